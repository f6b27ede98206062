"""A cache of the series of 2.0 requests, by the symbol ids of their labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from archive.remote_write.v2.plain_rows import PlainRows

_UNKNOWN: Final = 0xFFFFFFFF
NOT_FOUND: Final = -1
_INITIAL_CAPACITY: Final = 1024
_DAY: Final = 86_400_000
_MAX_METADATA: Final = 1_000_000


class SeriesCache:
    """A slot for each label set and label order; columns by slot for numpy."""

    def __init__(self) -> None:
        self._day = 0
        self.clear()

    def clear(self) -> None:
        self.ids: NDArray[np.int64] = np.empty(_INITIAL_CAPACITY, np.int64)
        self.stored_metadata: NDArray[np.int64] = np.zeros(_INITIAL_CAPACITY, np.int64)
        self._symbols: dict[bytes, int] = {}
        self._slots: dict[bytes, int] = {}
        self._metadata: dict[bytes, int] = {b"": 0}

    def __len__(self) -> int:
        return len(self._slots)

    def find(
        self, rows: PlainRows, symbols: Sequence[bytes]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """The slot of each row, and the cache's id of each symbol."""
        get_number = self._symbols.get
        numbers = np.array([get_number(symbol, _UNKNOWN) for symbol in symbols], np.uint32)
        references = rows.references
        if len(references) and int(references.max()) >= len(numbers):
            known = np.append(numbers, np.uint32(_UNKNOWN))
            keys = known[np.minimum(references, len(numbers))]
        else:
            keys = numbers[references]
        blob, get_slot = keys.tobytes(), self._slots.get
        ends = (4 * np.cumsum(rows.counts)).tolist()
        found = [get_slot(blob[start:end], NOT_FOUND) for start, end in pairwise([0, *ends])]
        return np.array(found, np.int64), numbers

    def learn(
        self,
        references: NDArray[np.int64],
        symbols: Sequence[bytes],
        numbers: NDArray[np.uint32],
        series: int,
    ) -> int:
        """The slot for these references; new symbols get an id."""
        for reference in references[numbers[references] == _UNKNOWN].tolist():
            numbers[reference] = self._symbols.setdefault(symbols[reference], len(self._symbols))
        slot = self._slots.setdefault(numbers[references].tobytes(), len(self._slots))
        if slot == len(self.ids):
            self.ids = np.concatenate([self.ids, np.empty_like(self.ids)])
            self.stored_metadata = np.concatenate(
                [self.stored_metadata, np.zeros_like(self.stored_metadata)]
            )
        self.ids[slot] = series
        return slot

    def metadata_number(self, data: bytes) -> int:
        """0 for no metadata; equal numbers for equal metadata."""
        return self._metadata.setdefault(data, len(self._metadata))

    def forget_metadata(self) -> None:
        """Accepts all metadata again."""
        self._metadata = {b"": 0}
        self.stored_metadata[:] = 0

    def evict(self, live: int, now: int) -> None:
        """Bounds the cache, and accepts all metadata once a day."""
        if len(self._slots) >= 2 * live or len(self._symbols) >= 4 * live:
            self.clear()
        if now // _DAY != self._day or len(self._metadata) >= _MAX_METADATA:
            self._day = now // _DAY
            self.forget_metadata()

    def forget(self, are_alive: Callable[[NDArray[np.int64]], NDArray[np.bool_]]) -> int:
        """Clears the cache when most of it is not alive; live series refill it quickly."""
        count = len(self._slots)
        living = int(np.count_nonzero(are_alive(self.ids[:count])))
        if count - living <= living:
            return 0
        self.clear()
        return count
