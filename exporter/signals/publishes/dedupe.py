"""Dedupe hits of one stream: one counter from the best available source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class DedupeHits:
    """Counts duplicate acks from the publish-ack tap, else unstored publishes: an upper bound.

    Each source is a counter of its own. Only its increase while in use counts.
    """

    total: int = 0
    _duplicates: int = 0
    _unstored: int = 0
    _breaks: int | None = 0  # None: the tap was not active at the last poll

    def without_tap(self, unstored: int | None) -> tuple[int | None, int | None]:
        self._breaks = None
        if unstored is None:
            return None, None
        self.total += self._gained(unstored)
        return self.total, 0

    def with_tap(self, duplicates: int, breaks: int, unstored: int | None) -> tuple[int, int]:
        # The tap's counter was reset if it fell.
        by_acks = duplicates - self._duplicates if duplicates >= self._duplicates else duplicates
        by_bound = self._gained(unstored)
        unbroken = breaks == self._breaks
        self._duplicates, self._breaks = duplicates, breaks
        # After a gap of the tap, take the larger one; neither is exact.
        self.total += by_acks if unbroken else max(by_acks, by_bound)
        return self.total, int(unbroken)

    def _gained(self, unstored: int | None) -> int:
        if unstored is None:
            return 0
        gained, self._unstored = unstored - self._unstored, unstored
        return gained
