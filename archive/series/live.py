"""Live series: those with samples in the last two hours. Enforces `limits.live_series`.

The clock may have been set back: what was seen or counted later than now is out of date.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from archive.series.labels import Identity, Labels, RefusedError
from archive.series.table import SeriesTable

LIVE_MILLISECONDS: Final = 2 * 3_600_000
_RECOUNT_MILLISECONDS: Final = 10_000


class LiveSeries:
    """Assigns series ids up to the limit of live series. Times in milliseconds."""

    def __init__(self, numbers: SeriesTable, max_series: int) -> None:
        self._numbers = numbers
        self._max_series = max_series
        self._counted = self._known_then = 0  # live and known series at the last count
        self._counted_at = -_RECOUNT_MILLISECONDS

    def identify(self, identity: Identity, now: int) -> int:
        """Raises RefusedError for a new series above the limit."""
        series = self._numbers.find(identity.labels, identity.replica)
        if series is None:
            if self.allowance(now) <= 0:
                raise self.over_limit()
            series = self._numbers.identify(identity.labels, identity.replica)
        return series

    def allowance(self, now: int, wanted: int = 1) -> int:
        """How many new series may be added; at least `wanted` without a count, below the limit."""
        known = self._numbers.known
        if known + wanted <= self._max_series:
            return self._max_series - known
        if not 0 <= now - self._counted_at < _RECOUNT_MILLISECONDS:
            self._counted, self._known_then, self._counted_at = self.count(now), known, now
        return self._max_series - min(known, self._counted + known - self._known_then)

    def over_limit(self) -> RefusedError:
        return RefusedError(f"more than {self._max_series} live series (limits.live_series)")

    def labels_of(self, series: int) -> Labels:
        return self._numbers.definition(series).labels

    def mark(self, series: NDArray[np.int64], now: int) -> None:
        self._numbers.last_seen.mark(series, now)

    def are_alive(self, series: NDArray[np.int64], now: int) -> NDArray[np.bool_]:
        alive: NDArray[np.bool_] = abs(self._numbers.last_seen.of(series) - now) < LIVE_MILLISECONDS
        return alive

    def count(self, now: int) -> int:
        return self._numbers.last_seen.count_near(now, LIVE_MILLISECONDS)
