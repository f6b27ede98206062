"""The sealed segments of the log: which hours are due, and which segments are published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from archive.publishing.wal_reader import Contents, SegmentHours, contents_of
from archive.tables.manifest import Covered, Manifest
from archive.tables.schema import HOUR_MS, day_name
from archive.wal.segments.segment import Segment


class PendingSegments:
    """Scans each segment once; `segments` are the existing ones."""

    def __init__(self) -> None:
        self._contents: dict[int, Contents] = {}
        self.segments: Sequence[Segment] = ()

    def scan(self, segments: Sequence[Segment]) -> None:
        known = self._contents
        self._contents = {
            each.number: known.get(each.number) or contents_of(each) for each in segments
        }
        self.segments = segments

    def due(self, manifest: Manifest, now: int | None, delay: int) -> Mapping[str, Sequence[int]]:
        """Hours with unpublished data by day: all, or those due at `now`."""
        hours = {hour for segment in self.segments for hour in self._unpublished(manifest, segment)}
        due: dict[str, list[int]] = {}
        for hour in sorted(hours):
            if now is None or now >= _last_write(manifest, hour) + delay:
                due.setdefault(day_name(hour), []).append(hour)
        return due

    def sources(self, manifest: Manifest, hours: Sequence[int]) -> list[SegmentHours]:
        found = (
            SegmentHours(segment, frozenset(self._unpublished(manifest, segment)) & set(hours))
            for segment in self.segments
        )
        return [source for source in found if source.hours]

    def samples(self, sources: Sequence[SegmentHours]) -> int:
        return sum(
            self._contents[source.segment.number].hours[hour]
            for source in sources
            for hour in source.hours
        )

    def upto(self) -> Covered:
        """Publishing an hour from all segments covers it up to this one."""
        return Covered(
            segment=max(segment.number for segment in self.segments),
            created=max(segment.created for segment in self.segments),
        )

    def oldest(self) -> int:
        return min(segment.number for segment in self.segments)

    def done(self, manifest: Manifest) -> list[Segment]:
        """Segments without unpublished data."""
        return [each for each in self.segments if not list(self._unpublished(manifest, each))]

    def misplaced(self, segments: Sequence[Segment]) -> int:
        return sum(self._contents[segment.number].misplaced for segment in segments)

    def _unpublished(self, manifest: Manifest, segment: Segment) -> Iterator[int]:
        for hour in self._contents[segment.number].hours:
            if not manifest.holds(hour, segment.number, segment.created):
                yield hour


def _last_write(manifest: Manifest, hour: int) -> int:
    """Start of the delay. A rewrite costs as much as a first write, so late samples are collected."""
    day = manifest.days.get(day_name(hour))
    last = day.hours.get(hour) if day else None
    return max(hour + HOUR_MS, last.published if last else 0)
