"""The sealed segments of the log: what they hold, and how much of it is published."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from archive.publishing.coverage import Coverage
from archive.publishing.wal_reader import Contents, SegmentHours, contents_of
from archive.tables.schema import day_name
from archive.wal.segments.segment import Segment

# Samples of one publication; a larger log takes several, each with its commits.
PUBLICATION_SAMPLES: Final = 50_000_000


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

    def next_position(self, coverage: Coverage, failed: Collection[str]) -> int | None:
        """Where the next publication ends; None when there is nothing to publish."""
        lowest, highest = coverage.bounds
        if lowest < highest:
            return highest  # an interrupted publication is finished first, with its own end
        samples, position = 0, None
        for segment in self.segments:
            hours = self._contents[segment.number].hours
            if self._open_days(coverage, segment).difference(failed):
                samples += sum(hours.values())
                if position is not None and samples > PUBLICATION_SAMPLES:
                    break
                position = max(segment.number, highest)
        return position

    def days(self, coverage: Coverage, upto: int) -> list[str]:
        """Days with data that is not published, in segments up to a position."""
        every = (self._open_days(coverage, each) for each in self.segments if each.number <= upto)
        return sorted(set().union(*every))

    def sources(self, coverage: Coverage, day: str, upto: int) -> list[SegmentHours]:
        """The data of a day that not every table covers."""
        return [
            self._of_day(segment, day)
            for segment in self.segments
            if segment.number <= upto and day in self._open_days(coverage, segment)
        ]

    def samples(self, sources: Sequence[SegmentHours]) -> int:
        return sum(
            self._contents[source.segment.number].hours[hour]
            for source in sources
            for hour in source.hours
        )

    @property
    def every_sample(self) -> int:
        return sum(sum(contents.hours.values()) for contents in self._contents.values())

    def done(self, coverage: Coverage) -> list[Segment]:
        """Segments that every table covers."""
        return [each for each in self.segments if not self._open_days(coverage, each)]

    def misplaced(self, segments: Sequence[Segment]) -> int:
        return sum(self._contents[segment.number].misplaced for segment in segments)

    def _open_days(self, coverage: Coverage, segment: Segment) -> set[str]:
        days = {day_name(hour) for hour in self._contents[segment.number].hours}
        return {day for day in days if coverage.least(day) < segment.number}

    def _of_day(self, segment: Segment, day: str) -> SegmentHours:
        contents = self._contents[segment.number]
        hours = frozenset(hour for hour in contents.hours if day_name(hour) == day)
        kinds = frozenset(each for each in contents.kinds if each[1] in hours)
        return SegmentHours(segment, hours, kinds)
