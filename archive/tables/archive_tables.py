"""The tables of an archive together: one snapshot of all, and commits in their order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Protocol

from archive.settings.publishing import RetentionSettings
from archive.tables.data_file import Change, DataFile
from archive.tables.delta_log import ABSENT, DeltaLog
from archive.tables.schema import SERIES, TABLES
from archive.tables.storage import Storage, open_storage

# The application transaction of `series` that keeps ids from being assigned again.
NEXT_SERIES: Final = "next-series"


@dataclass(frozen=True)
class Snapshot:
    """The files of each table, as last read."""

    files: Mapping[str, Sequence[DataFile]]
    versions: Mapping[str, int]

    @property
    def is_absent(self) -> bool:
        """Whether no table exists."""
        return all(version == ABSENT for version in self.versions.values())

    @property
    def days(self) -> list[str]:
        """Days with a file in any table, oldest first."""
        return sorted({file.day for file in self.every_file() if file.day})

    def of_day(self, table: str, day: str) -> tuple[DataFile, ...]:
        return tuple(self._by_day.get((table, day), ()))

    @cached_property
    def _by_day(self) -> dict[tuple[str, str], list[DataFile]]:
        found: dict[tuple[str, str], list[DataFile]] = {}
        for table, files in self.files.items():
            for file in files:
                found.setdefault((table, file.day), []).append(file)
        return found

    def every_file(self) -> Iterable[DataFile]:
        return (file for table in TABLES for file in self.files[table])

    def day_size(self, day: str) -> int:
        return sum(file.size for table in TABLES for file in self.of_day(table, day))


class TableLog(Protocol):
    """A DeltaLog, or its like in memory for a view that commits nothing."""

    @property
    def name(self) -> str: ...
    def read(self) -> tuple[DataFile, ...]: ...
    @property
    def version(self) -> int: ...
    def position(self, application: str) -> int | None: ...
    def commit(
        self, change: Change, positions: Mapping[str, int], *, data_change: bool = True
    ) -> None: ...
    def checkpoint(self) -> None: ...
    def drop_old_versions(self) -> None: ...
    def vacuum(self, older_than: float) -> list[str]: ...


class ArchiveTables:
    def __init__(self, storage: Storage, logs: Mapping[str, TableLog]) -> None:
        self.storage = storage
        self.logs = logs

    def __str__(self) -> str:
        return str(self.storage)

    def read(self) -> Snapshot:
        """Series last: they are committed first, so every id of the other tables is known."""
        files = {name: self.logs[name].read() for name in reversed(TABLES)}
        return Snapshot(files, {name: self.logs[name].version for name in TABLES})

    def write(self, changes: Mapping[str, Change], next_series: int) -> None:
        """Commits to every table, without a log, for data that does not come from one."""
        for name in TABLES:
            positions = {NEXT_SERIES: next_series} if name == SERIES else {}
            self.logs[name].commit(changes.get(name, Change()), positions)

    def position(self, table: str, application: str) -> int:
        """The position that a table covers; 0 before the first. From the last `read`."""
        return self.logs[table].position(application) or 0

    def highest_position(self, application: str) -> int:
        return max(self.position(table, application) for table in TABLES)

    @property
    def next_series(self) -> int:
        return self.position(SERIES, NEXT_SERIES)


def delta_logs(storage: Storage, retention: RetentionSettings) -> dict[str, DeltaLog]:
    return {name: DeltaLog(storage, name, retention.history) for name in TABLES}


def open_tables(
    place: str | Path | Storage, retention: RetentionSettings | None = None
) -> ArchiveTables:
    storage = place if isinstance(place, Storage) else open_storage(place)
    return ArchiveTables(storage, delta_logs(storage, retention or RetentionSettings()))


def position_name(log: str, day: str = "") -> str:
    """The application transaction with the covered segment of a log.

    One with a day exists when that day could not be written: it is covered only so far.
    """
    return f"wal-{log}/{day}" if day else f"wal-{log}"
