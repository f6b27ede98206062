"""The files that a publication rewrites: hours that share files are written together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from archive.tables.manifest import FileEntry
from archive.tables.schema import HOUR_MS, day_folder, day_name


@dataclass(frozen=True, slots=True)
class Target:
    """New files of one table: the files that they replace, and their hours."""

    table: str
    old: tuple[FileEntry, ...]
    hours: tuple[int, ...]

    def path(self, stamp: str, part: int) -> str:
        hours = [hour // HOUR_MS % 24 for hour in self.hours]
        span = f"{hours[0]:02}" if len(hours) == 1 else f"{hours[0]:02}-{hours[-1]:02}"
        folder = day_folder(self.table, day_name(self.hours[0]))
        return f"{folder}/{span}-{stamp}-{part}.parquet"

    @property
    def is_one_hour(self) -> bool:
        return len(self.hours) == 1


def targets(table: str, files: Sequence[FileEntry], hours: Iterable[int]) -> list[Target]:
    """The targets for new rows of these hours of one day, given the files of the day."""
    found: dict[tuple[FileEntry, ...], set[int]] = {}
    lone: list[int] = []
    for hour in sorted(hours):
        old = tuple(entry for entry in files if hour in entry.hours)
        if old:
            found.setdefault(old, set()).add(hour)
        else:
            lone.append(hour)
    rewritten = [
        Target(table, old, tuple(sorted(fresh.union(*(entry.hours for entry in old)))))
        for old, fresh in found.items()
    ]
    return [*rewritten, *(Target(table, (), (hour,)) for hour in lone)]


def replaced(
    files: Sequence[FileEntry], written: Iterable[tuple[Target, Sequence[FileEntry]]]
) -> tuple[FileEntry, ...]:
    """The files of a day after these targets were written."""
    kept, new = list(files), list[FileEntry]()
    for target, entries in written:
        kept = [entry for entry in kept if entry not in target.old]
        new += entries
    return tuple(sorted([*kept, *new], key=lambda entry: entry.path))
