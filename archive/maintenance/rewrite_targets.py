"""The files that a publication rewrites: hours that share files are written together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from archive.tables.data_file import DataFile
from archive.tables.schema import HOUR_MS, day_folder, day_name


@dataclass(frozen=True, slots=True)
class Target:
    """New files of one table and day: the files that they replace, and their hours."""

    table: str
    old: tuple[DataFile, ...]
    hours: tuple[int, ...]  # those with new rows

    @property
    def day(self) -> str:
        return day_name(self.hours[0]) if self.hours else self.old[0].day

    @property
    def span(self) -> tuple[int, int]:
        """The first and the last hour of its rows."""
        return (
            min([*self.hours, *(file.first_hour for file in self.old)]),
            max([*self.hours, *(file.last_hour for file in self.old)]),
        )

    def path(self, stamp: str, part: int) -> str:
        first, last = (f"{hour // HOUR_MS % 24:02}" for hour in self.span)
        span = first if first == last else f"{first}-{last}"
        return f"{day_folder(self.table, self.day)}/{span}-{stamp}-{part}.parquet"

    @property
    def is_one_hour(self) -> bool:
        first, last = self.span
        return first == last


def targets(table: str, files: Sequence[DataFile], hours: Iterable[int]) -> list[Target]:
    """The targets for new rows of these hours of one day, given the files of the day.

    Two hours belong together if a file may hold rows of both, directly or through a third hour.
    """
    found: list[tuple[set[DataFile], set[int]]] = []
    for hour in sorted(hours):
        old, new = {file for file in files if file.may_hold(hour)}, {hour}
        apart = []
        for other_files, other_hours in found:
            if old.isdisjoint(other_files):
                apart.append((other_files, other_hours))
            else:
                old |= other_files
                new |= other_hours
        found = [*apart, (old, new)]
    return [
        Target(table, tuple(file for file in files if file in old), tuple(sorted(new)))
        for old, new in found
    ]
