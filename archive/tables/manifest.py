"""The manifest: the files of the archive, their content, and the published part of the log.

Immutable; a publication derives a new manifest from the old one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from archive.tables.schema import FORMAT_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """One Parquet file, with its expected size and checksum."""

    path: str
    size: int
    sha256: str
    rows: int
    hours: tuple[int, ...] = ()  # start of each hour in it, in milliseconds; for files of a day


@dataclass(frozen=True, slots=True, kw_only=True)
class HourEntry:
    """The published content of one hour, over all files."""

    samples: int
    series: int
    minutes: str  # hexadecimal; bit n is set when the n-th minute of the hour has a sample
    published: int  # time of the last write, in milliseconds


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
    """The last log segment of which one hour is published, and its creation time."""

    segment: int
    created: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Retired:
    """A replaced file; it is deleted after the grace period."""

    path: str
    since: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    format: int = FORMAT_VERSION
    publication: int = 0
    written: int = 0
    next_series: int = 0
    least_segment: int = 0  # the log must not use lower numbers again
    series: tuple[FileEntry, ...] = ()
    days: Mapping[str, DayEntry] = field(default_factory=dict)
    log: str = ""  # the id of the log that `covered` refers to
    covered: Mapping[int, Covered] = field(default_factory=dict)  # by the hour's start
    retired: tuple[Retired, ...] = ()

    def files(self) -> Iterable[FileEntry]:
        yield from self.series
        for day in self.days.values():
            yield from day.files()

    def holds(self, hour: int, segment: int, created: int) -> bool:
        """Whether the samples of a segment in this hour are published.

        A segment newer than the published ones is not covered, whatever its number: the log was
        lost and has restarted its numbers.
        """
        known = self.covered.get(hour)
        return known is not None and segment <= known.segment and created <= known.created

    def of_log(self, log: str) -> Manifest:
        """The manifest for this log; `covered` of another log does not apply."""
        return self if self.log == log else replace(self, log=log, covered={})

    def after(self, now: int, **changes: object) -> Manifest:
        """The next manifest; files that it no longer contains are retired."""
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
    """Merges; drops entries of segments below `oldest`, the lowest one that exists."""
    merged = {**old, **dict.fromkeys(hours, upto)}
    return {hour: each for hour, each in sorted(merged.items()) if each.segment >= oldest}
