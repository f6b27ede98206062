"""Live series: those with samples in the last two hours. Enforces `limits.live_series`."""

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
        self._since = 0  # the first sample since the start
        self._counted = 0
        self._counted_at = -_RECOUNT_MILLISECONDS

    def identify(self, identity: Identity, now: int) -> int:
        """Raises RefusedError for a new series above the limit."""
        series = self._numbers.find(identity.labels, identity.replica)
        if series is None:
            self._permit(now)
            series = self._numbers.identify(identity.labels, identity.replica)
        return series

    def add_key(self, key: bytes, now: int) -> int:
        """The same for the key of a series that is new."""
        self._permit(now)
        return self._numbers.add_key(key)

    def _permit(self, now: int) -> None:
        limit = self._max_series
        if self._numbers.known >= limit and self._recounted(now) >= limit:
            raise RefusedError(f"more than {limit} live series (limits.live_series)")
        self._counted += 1

    def labels_of(self, series: int) -> Labels:
        return self._numbers.definition(series).labels

    def mark(self, series: NDArray[np.int64], now: int) -> None:
        if not self._since:
            self._since = now
        self._numbers.last_seen.mark(series, now)

    def seen(self, first: int, end: int) -> int:
        """How many of these ids had samples since the start."""
        times = self._numbers.last_seen.of(np.arange(first, end))
        return int(np.count_nonzero(times >= self._since)) if self._since else 0

    def are_alive(self, series: NDArray[np.int64], now: int) -> NDArray[np.bool_]:
        alive: NDArray[np.bool_] = self._numbers.last_seen.of(series) > now - LIVE_MILLISECONDS
        return alive

    def count(self, now: int) -> int:
        return self._numbers.last_seen.count_since(now - LIVE_MILLISECONDS + 1)

    def _recounted(self, now: int) -> int:
        """Recounts at most every ten seconds, so that many new series stay cheap."""
        if now - self._counted_at >= _RECOUNT_MILLISECONDS:
            self._counted, self._counted_at = self.count(now), now
        return self._counted
