"""Where an archive has no sample at all, to the minute. Pure: the manifest knows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from archive.publishing.hour_counts import minutes_of
from archive.tables.manifest import Manifest

MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class Gap:
    start: int
    end: int


def gaps(manifest: Manifest, least: int) -> Iterator[Gap]:
    """Between the first and the last sample; a gap is as long as its empty whole minutes."""
    last: int | None = None
    for minute in _minutes(manifest):
        if last is not None and minute - last >= max(least, MINUTE_MS):
            yield Gap(last, minute)
        last = minute + MINUTE_MS


def _minutes(manifest: Manifest) -> Iterator[int]:
    """The starts of the minutes that have a sample, in their order."""
    for name in sorted(manifest.days):
        for hour, entry in sorted(manifest.days[name].hours.items()):
            for place, present in enumerate(minutes_of(entry)):
                if present:
                    yield hour + place * MINUTE_MS
