"""The days of the archive and what changed in them, from the logs of its Delta tables."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from archive.tables.schema import HOURLY, SAMPLES, SERIES
from spark_rollups.filesystem import RollupError, Root
from spark_rollups.rollup.tables.delta_notes import (
    ABSENT,
    TableVersion,
    changed_partitions,
    read_version,
)

TABLES = (SAMPLES, HOURLY, SERIES)


@dataclass(frozen=True, slots=True)
class ArchiveDays:
    root: Root
    tables: Mapping[str, TableVersion]

    @property
    def versions(self) -> dict[str, int]:
        return {name: found.number for name, found in self.tables.items()}

    @property
    def series(self) -> int:
        return sum(file.rows for file in self.tables[SERIES].files)

    @property
    def days(self) -> list[str]:
        return sorted({*self.tables[HOURLY].partitions, *self.tables[SAMPLES].partitions})

    def has(self, table: str, day: str) -> bool:
        return day in self.tables[table].partitions

    def between(self, first: date | None, last: date | None) -> list[str]:
        """The days in the range. A bound without data is an error, a gap is not."""
        days = self.days
        if not days:
            raise RollupError(f"{self.root}: the archive is empty")
        low, high = first.isoformat() if first else days[0], last.isoformat() if last else days[-1]
        if low > high:
            raise RollupError(f"--from {low} is after --to {high}")
        for bound in (first, last):
            if bound and bound.isoformat() not in days:
                raise RollupError(
                    f"{self.root}: the archive has no day {bound} (it has {days[0]} to {days[-1]})"
                )
        return [day for day in days if low <= day <= high]

    def changed_since(self, versions: Mapping[str, int], *, from_raw: bool) -> set[str] | None:
        """None if a log does not reach back; days that left the archive are not included."""
        found: set[str] = set()
        for name in (HOURLY, SAMPLES):
            before, now = versions.get(name, ABSENT), self.tables[name].number
            changed = changed_partitions(self.root, name, before, now)
            if changed is None or before > now:
                return None
            found |= changed
        known = set(self.days)
        # Counters continue from the samples of the day before.
        after = {shifted(day, 1) for day in found}
        found |= {day for day in after & known if from_raw or not self.has(HOURLY, day)}
        return found & known


def open_archive(text: str) -> ArchiveDays:
    """The newest version of each table. `series` last: its rows are committed first."""
    root = Root(text)
    tables = {name: read_version(root, name) for name in TABLES}
    for name, found in tables.items():
        if found.number == ABSENT:
            raise RollupError(f"{root}: no archive here (no table {name})")
    return ArchiveDays(root, tables)


def shifted(day: str, days: int) -> str:
    return (date.fromisoformat(day) + timedelta(days=days)).isoformat()


def missing_spans(days: Iterable[str]) -> list[tuple[date, date]]:
    """Gaps between the days, as first and last day."""
    known = [date.fromisoformat(day) for day in sorted(days)]
    one = timedelta(days=1)
    return [
        (before + one, after - one)
        for before, after in itertools.pairwise(known)
        if after - before > one
    ]
