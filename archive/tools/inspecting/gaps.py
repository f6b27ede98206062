"""Gaps of an archive without any sample, to the minute, from the manifest."""

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
    """Gaps between the first and the last sample, in whole minutes without samples."""
    last: int | None = None
    for minute in _minutes(manifest):
        if last is not None and minute - last >= max(least, MINUTE_MS):
            yield Gap(last, minute)
        last = minute + MINUTE_MS


def _minutes(manifest: Manifest) -> Iterator[int]:
    """The starts of the minutes with a sample, in order."""
    for name in sorted(manifest.days):
        for hour, entry in sorted(manifest.days[name].hours.items()):
            for place, present in enumerate(minutes_of(entry)):
                if present:
                    yield hour + place * MINUTE_MS
