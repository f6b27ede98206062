"""Finished days of a run without a manifest yet, so that a failed run can be resumed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

from spark_rollups.filesystem import Root
from spark_rollups.rollup.tables.manifest import FOLDER, Day, day_from
from spark_rollups.rollup.tables.schemas import ROLLUP_FORMAT

PATH: Final = f"{FOLDER}/unfinished.json"


def read_unfinished(root: Root) -> dict[str, Day]:
    """Empty without such a file, or if another version wrote it."""
    if PATH.rpartition("/")[2] not in root.names(FOLDER):
        return {}
    try:
        read = json.loads(root.read(PATH))
        if read["format"] != ROLLUP_FORMAT:
            return {}
        days = {day: day_from(entry) for day, entry in read["days"].items()}
    except (ValueError, KeyError, TypeError):
        return {}
    return {day: entry for day, entry in days.items() if root.has(_paths(entry))}


def keep_unfinished(root: Root, days: Mapping[str, Day]) -> None:
    entries = {day: asdict(entry) for day, entry in days.items()}
    root.write(PATH, json.dumps({"format": ROLLUP_FORMAT, "days": entries}).encode())


def forget_unfinished(root: Root) -> None:
    root.delete(PATH)


def _paths(day: Day) -> list[str]:
    return [file.path for files in day.tables.values() for file in files]
