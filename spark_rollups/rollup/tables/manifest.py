"""The manifest of the rollups: the list of their files.

Manifests are numbered files in `rollup/`; the highest number is the current one.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from spark_rollups.filesystem import RollupError, Root
from spark_rollups.rollup.tables.schemas import ROLLUP_FORMAT

FOLDER: Final = "rollup"


@dataclass(frozen=True, slots=True)
class RollupFile:
    path: str
    rows: int
    size: int


@dataclass(frozen=True, slots=True)
class Day:
    """One day: its inputs, and its files by table."""

    fingerprint: str  # of the files of the archive and the settings
    hours: int  # bit n is set if hour n (UTC) has data
    rows: int  # read from the archive
    tables: dict[str, tuple[RollupFile, ...]]
    raw: bool = False  # computed from samples, not from the hourly table
    samples: bool = True  # False: the archive has no samples, so there are no shares and quantiles


@dataclass(frozen=True, slots=True)
class Manifest:
    number: int = 0
    written: int = 0  # milliseconds since 1970
    format: int = ROLLUP_FORMAT
    days: dict[str, Day] = field(default_factory=dict)
    asof: dict[str, dict[str, tuple[RollupFile, ...]]] = field(default_factory=dict)
    asof_marks: dict[str, str] = field(default_factory=dict)  # hash of the inputs of each snapshot

    def paths(self) -> set[str]:
        """All files of the manifest."""
        tables = [*(day.tables for day in self.days.values()), *self.asof.values()]
        return {each.path for files in tables for group in files.values() for each in group}

    def after(self, written: int) -> Manifest:
        """The next manifest."""
        return replace(self, number=self.number + 1, written=written)


def manifest_path(number: int) -> str:
    return f"{FOLDER}/{number:010d}.json"


def numbers(root: Root) -> list[int]:
    """The numbers of all manifests, ascending."""
    stems = (name.removesuffix(".json") for name in root.names(FOLDER) if name.endswith(".json"))
    return sorted(int(stem) for stem in stems if stem.isdecimal())


def newest_manifest(root: Root) -> Manifest | None:
    found = numbers(root)
    if not found:
        return None
    path = manifest_path(found[-1])
    return decoded(root.read(path), f"{root}/{path}")


def write_manifest(root: Root, manifest: Manifest) -> None:
    root.write(manifest_path(manifest.number), encoded(manifest))


def encoded(manifest: Manifest) -> bytes:
    return json.dumps(asdict(manifest), indent=1, sort_keys=True).encode() + b"\n"


def decoded(data: bytes, where: str) -> Manifest:
    try:
        read = json.loads(data)
        version = int(read["format"])
        if version > ROLLUP_FORMAT:
            raise RollupError(
                f"{where}: format {version} is newer than this program, which reads {ROLLUP_FORMAT}"
            )
        days = {day: day_from(entry) for day, entry in read["days"].items()}
        asof = {day: _tables(entry) for day, entry in read["asof"].items()}
        # Snapshots without marks are computed again.
        marks = {day: str(mark) for day, mark in read.get("asof_marks", {}).items()}
        return Manifest(read["number"], read["written"], version, days, asof, marks)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RollupError(f"{where}: not a rollup manifest ({error!r})") from error


def day_from(entry: dict[str, Any]) -> Day:
    return Day(**{**entry, "tables": _tables(entry["tables"])})


def _tables(entry: dict[str, list[dict[str, Any]]]) -> dict[str, tuple[RollupFile, ...]]:
    return {table: tuple(RollupFile(**each) for each in files) for table, files in entry.items()}
