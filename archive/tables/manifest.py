"""The manifest: which files are the archive, what is in them, and which part of the log they hold.

Values that never change; a publication makes a new one from the old one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from archive.tables.schema import FORMAT_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """One Parquet file as it must be found."""

    path: str
    size: int
    sha256: str
    rows: int
    hours: tuple[int, ...] = ()  # the starts of the hours in it, in milliseconds; of days' files


@dataclass(frozen=True, slots=True, kw_only=True)
class HourEntry:
    """What is published of one hour, over all files."""

    samples: int
    series: int
    minutes: str  # hexadecimal; bit n is set when the n-th minute of the hour has a sample
    published: int  # when it was last written, in milliseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class DayEntry:
    samples: tuple[FileEntry, ...] = ()
    hourly: tuple[FileEntry, ...] = ()
    opaque: tuple[FileEntry, ...] = ()
    hours: Mapping[int, HourEntry] = field(default_factory=dict)  # by the hour's start

    def files(self) -> Iterable[FileEntry]:
        return (*self.samples, *self.hourly, *self.opaque)

    @property
    def size(self) -> int:
        return sum(entry.size for entry in self.files())

    @property
    def sample_count(self) -> int:
        return sum(hour.samples for hour in self.hours.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """The log's segments whose samples of one hour are published: up to this one, created by then."""

    segment: int
    created: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Retired:
    """A file that no reader should open any more; it is deleted when its grace is over."""

    path: str
    since: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    format: int = FORMAT_VERSION
    publication: int = 0
    written: int = 0
    next_series: int = 0
    least_segment: int = 0  # the log must never again use a lower number
    series: tuple[FileEntry, ...] = ()
    days: Mapping[str, DayEntry] = field(default_factory=dict)
    log: str = ""  # the log that `covered` speaks of
    covered: Mapping[int, Covered] = field(default_factory=dict)  # by the hour's start
    retired: tuple[Retired, ...] = ()

    def files(self) -> Iterable[FileEntry]:
        yield from self.series
        for day in self.days.values():
            yield from day.files()

    def holds(self, hour: int, segment: int, created: int) -> bool:
        """Whether a segment's samples of this hour are published.

        A segment that is younger than those which were published is not one of them, whatever its
        number: then the log has lost its memory and counts anew.
        """
        known = self.covered.get(hour)
        return known is not None and segment <= known.segment and created <= known.created

    def of_log(self, log: str) -> Manifest:
        """What is covered of another log says nothing about this one."""
        return self if self.log == log else replace(self, log=log, covered={})

    def after(self, now: int, **changes: object) -> Manifest:
        """The next publication; files that it does not name any more are retired."""
        new: Manifest = replace(self, publication=self.publication + 1, written=now, **changes)  # type: ignore[arg-type]
        named = {entry.path for entry in new.files()}
        gone = [entry.path for entry in self.files() if entry.path not in named]
        retired = (*new.retired, *(Retired(path=path, since=now) for path in gone))
        return replace(new, retired=retired)

    def with_day(self, name: str, day: DayEntry) -> dict[str, DayEntry]:
        return dict(sorted({**self.days, name: day}.items()))


def covered_after(
    old: Mapping[int, Covered], hours: Iterable[int], upto: Covered, oldest: int
) -> dict[int, Covered]:
    """`oldest` is the lowest segment that still exists: what only speaks of gone ones is dropped."""
    merged = {**old, **dict.fromkeys(hours, upto)}
    return {hour: each for hour, each in sorted(merged.items()) if each.segment >= oldest}
