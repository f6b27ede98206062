"""Dedupe hits of one stream: one counter, fed by the best method at hand."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class DedupeHits:
    """Best are acknowledgements that a tap heard, else what was not stored: a bound from above.

    Both are counters of their own; only what they gained while they were in use counts.
    """

    total: int = 0
    _heard: int = 0
    _unstored: int = 0
    _breaks: int | None = 0  # None: the tap did not listen the last time

    def without_tap(self, unstored: int | None) -> tuple[int | None, int | None]:
        self._breaks = None
        if unstored is None:
            return None, None
        self.total += self._gained(unstored)
        return self.total, 0

    def with_tap(self, heard: int, breaks: int, unstored: int | None) -> tuple[int, int]:
        # A counter of the tap that fell began anew.
        by_acks = heard - self._heard if heard >= self._heard else heard
        by_bound = self._gained(unstored)
        unbroken = breaks == self._breaks
        self._heard, self._breaks = heard, breaks
        # What a tap missed may be seen by the other way; neither is sure then.
        self.total += by_acks if unbroken else max(by_acks, by_bound)
        return self.total, int(unbroken)

    def _gained(self, unstored: int | None) -> int:
        if unstored is None:
            return 0
        gained, self._unstored = unstored - self._unstored, unstored
        return gained
