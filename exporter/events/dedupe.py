"""Dedupe hits of every stream: one counter, fed by the best method at hand. Pure.

Best are the acknowledgements that the publish-ack tap hears; else the publishes that were received and
not stored, which rejections raise too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from exporter.events.counts import EventCounts, StreamCounts, StreamKey, TapState

_NONE_HEARD = StreamCounts()


@dataclass(frozen=True, slots=True)
class DedupeHits:
    total: int
    exact: bool  # the last step came from acknowledgements alone


@dataclass(slots=True)
class _Track:
    """Both counters as they were last known; they begin at 0 like everything that we derive."""

    heard: int = 0
    unstored: int = 0
    total: int = 0

    def grown_by_acks(self, heard: int) -> int:
        grown, self.heard = _growth(self.heard, heard), heard
        return grown

    def grown_by_unstored(self, unstored: int) -> int:
        grown, self.unstored = _growth(self.unstored, unstored), unstored
        return grown


@dataclass(slots=True)
class DedupeBook:
    _tracks: dict[StreamKey, _Track] = field(default_factory=dict)
    _tap: TapState | None = None

    def update(
        self,
        streams: Collection[StreamKey],
        counts: EventCounts,
        unstored: Mapping[StreamKey, int],
    ) -> dict[StreamKey, DedupeHits]:
        """Of the streams of one poll. `unstored`: counters of those whose publishes are counted."""
        tap = counts.tap
        unbroken = _is_unbroken(self._tap, tap)
        tracks = {key: self._tracks.get(key) or _Track() for key in streams}
        hits: dict[StreamKey, DedupeHits] = {}
        for key, track in tracks.items():
            tapped = tap is not None and tap.active and key[0] == tap.account
            heard = track.grown_by_acks(counts.streams.get(key, _NONE_HEARD).duplicates)
            received = unstored.get(key)
            grown = None if received is None else track.grown_by_unstored(received)
            if tapped and (unbroken or grown is None):
                grown = heard
            if grown is not None:  # else nobody knows, and nothing is said
                track.total += grown
                hits[key] = DedupeHits(track.total, tapped and unbroken)
        self._tracks, self._tap = tracks, tap
        return hits


def _is_unbroken(before: TapState | None, now: TapState | None) -> bool:
    """The tap heard everything since the last poll, as far as it can know."""
    if now is None or not now.active:
        return False
    return before is None or (before.active and before.breaks == now.breaks)


def _growth(before: int, now: int) -> int:
    """A counter that fell began again."""
    return now - before if now >= before else now
