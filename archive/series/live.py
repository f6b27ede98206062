"""Live series: those with samples in the last two hours. Enforces `limits.live_series`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from archive.batch import SeriesDefinition
from archive.series.labels import Identity, Label, Labels, RefusedError
from archive.series.last_seen import LastSeen

Permit = Callable[[], object]
LIVE_MILLISECONDS: Final = 2 * 3_600_000
_RECOUNT_MILLISECONDS: Final = 10_000


class SeriesIds(Protocol):
    """The ids of all series; the write-ahead log's series table implements it."""

    @property
    def last_seen(self) -> LastSeen: ...

    @property
    def known(self) -> int: ...

    def __len__(self) -> int: ...

    def find(self, labels: Labels, replica: str = "") -> int | None: ...

    def identify(self, labels: Labels, replica: str = "", permit: Permit = ...) -> int: ...

    def identify_key(self, key: bytes, permit: Permit = ...) -> int: ...

    def key(self, labels: Iterable[Label]) -> bytes: ...

    def replica_key(self, replica: str) -> bytes: ...

    def definition(self, series: int) -> SeriesDefinition: ...

    def ids(self, first: int, end: int) -> Iterable[int]: ...

    def rows(self, ids: Iterable[int]) -> list[bytes]: ...

    def pairs(self, numbers: Iterable[int]) -> list[Label]: ...


class LiveSeries:
    """Assigns series ids up to the limit of live series. Times in milliseconds."""

    def __init__(self, numbers: SeriesIds, max_series: int) -> None:
        self._numbers = numbers
        self._max_series = max_series
        self._now = 0
        self._since = 0  # the first sample since the start
        self._counted = 0
        self._counted_at = -_RECOUNT_MILLISECONDS

    @property
    def cache_limit(self) -> int:
        """Maximum cached label sets: a series may arrive with labels in several orders."""
        return 2 * self._max_series

    def identify(self, identity: Identity, now: int) -> int:
        """Raises RefusedError for a new series above the limit."""
        self._now = now
        return self._numbers.identify(identity.labels, identity.replica, self._permit)

    def identify_key(self, key: bytes, now: int) -> int:
        """The same for a key of the series table."""
        self._now = now
        return self._numbers.identify_key(key, self._permit)

    def _permit(self) -> None:
        now = self._now
        if self._numbers.known >= self._max_series and self._recounted(now) >= self._max_series:
            raise RefusedError(f"more than {self._max_series} live series (limits.live_series)")
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
