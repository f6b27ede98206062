"""The days and files of the archive, from the logs of its Delta tables."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

from archive.tables.schema import HOURLY, SAMPLES, SERIES
from spark_rollups.filesystem import RollupError, Root


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """A path is never used twice, so it stands for the content."""

    path: str
    size: int
    rows: int


@dataclass(frozen=True, slots=True)
class ArchiveDay:
    hourly: tuple[ArchiveFile, ...]
    samples: tuple[ArchiveFile, ...]

    @property
    def files(self) -> tuple[ArchiveFile, ...]:
        return (*self.hourly, *self.samples)


@dataclass(frozen=True, slots=True)
class Archive:
    root: Root
    series: tuple[ArchiveFile, ...]
    days: Mapping[str, ArchiveDay]

    def between(self, first: date | None, last: date | None) -> list[str]:
        """The days in the range. A bound without data is an error, a gap is not."""
        if not self.days:
            raise RollupError(f"{self.root}: the archive is empty")
        oldest, newest = min(self.days), max(self.days)
        low, high = (first.isoformat() if first else oldest, last.isoformat() if last else newest)
        if low > high:
            raise RollupError(f"--from {low} is after --to {high}")
        for bound in (first, last):
            if bound and bound.isoformat() not in self.days:
                raise RollupError(
                    f"{self.root}: the archive has no day {bound} (it has {oldest} to {newest})"
                )
        return [day for day in sorted(self.days) if low <= day <= high]


def open_archive(text: str) -> Archive:
    """The newest version of each table. `series` last: its rows are committed first."""
    root = Root(text)
    samples, hourly, series = (_files(root, table) for table in (SAMPLES, HOURLY, SERIES))
    days = {
        day: ArchiveDay(tuple(hourly.get(day, ())), tuple(samples.get(day, ())))
        for day in sorted({*samples, *hourly})
    }
    return Archive(root, tuple(series.get("", ())), days)


def _files(root: Root, table: str) -> dict[str, list[ArchiveFile]]:
    """The files of a table by day; "" for a table without days."""
    # Only the driver reads the log, so workers need no deltalake.
    import pyarrow as pa  # type: ignore[import-untyped]
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError, TableNotFoundError

    try:
        actions = pa.table(DeltaTable(f"{root.text}/{table}").get_add_actions(flatten=True))
    except TableNotFoundError as error:
        raise RollupError(f"{root}: no archive here (no table {table})") from error
    except (DeltaError, OSError) as error:
        raise RollupError(f"{root}/{table}: {str(error).splitlines()[0]}") from error
    found: dict[str, list[ArchiveFile]] = {}
    for action in sorted(actions.to_pylist(), key=lambda each: str(each["path"])):
        day = action.get("partition.day")
        file = ArchiveFile(f"{table}/{action['path']}", action["size_bytes"], action["num_records"])
        found.setdefault(day.isoformat() if day else "", []).append(file)
    return found


def fingerprint(files: Iterable[ArchiveFile], *about: str) -> str:
    """A hash of files and settings."""
    text = "\n".join([*about, *sorted(each.path for each in files)])
    return hashlib.sha256(text.encode()).hexdigest()[:32]
