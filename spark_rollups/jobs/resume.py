"""Days that a run has finished while its manifest is not yet written: a failed run is taken up."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

from spark_rollups.filesystem import Place
from spark_rollups.rollup.tables.manifest import FOLDER, Day, day_from
from spark_rollups.rollup.tables.schemas import ROLLUP_FORMAT

PATH: Final = f"{FOLDER}/unfinished.json"


def read_unfinished(place: Place) -> dict[str, Day]:
    """Nothing when there is none, or another version wrote it: then the days are read again."""
    if PATH.rpartition("/")[2] not in place.names(FOLDER):
        return {}
    try:
        read = json.loads(place.read(PATH))
        if read["format"] != ROLLUP_FORMAT:
            return {}
        days = {day: day_from(entry) for day, entry in read["days"].items()}
    except (ValueError, KeyError, TypeError):
        return {}
    return {day: entry for day, entry in days.items() if place.has(_paths(entry))}


def keep_unfinished(place: Place, days: Mapping[str, Day]) -> None:
    entries = {day: asdict(entry) for day, entry in days.items()}
    place.write(PATH, json.dumps({"format": ROLLUP_FORMAT, "days": entries}).encode())


def forget_unfinished(place: Place) -> None:
    place.delete(PATH)


def _paths(day: Day) -> list[str]:
    return [file.path for files in day.tables.values() for file in files]
