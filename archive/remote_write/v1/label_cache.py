"""Label sets that were read once: found again by their bytes, or by the run that they came in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from archive.remote_write.result import REFUSED

if TYPE_CHECKING:
    from archive.remote_write.v1.span_cache import CachedSpan

SERIES_TAG: Final = 0x0A
VALUED: Final = 18
"""Bytes of a sample with a value and a time of six bytes, its own header included."""
ZERO: Final = 9
"""The same for the value zero, which the format leaves out."""
_NO_HEADER: Final = 0  # a header begins with its tag, which is not zero
MAX_HEADER: Final = 6  # bytes: a tag and a size below 32 GiB
_MASKS: Final = np.array([(1 << 8 * length) - 1 for length in range(MAX_HEADER + 1)], np.uint64)
_INITIAL_CAPACITY: Final = 1024
_COLUMNS: Final = ("ids", "prefix_sizes", "masks", "valued", "zero")


class Slot:
    """One label set as bytes behind a header of that length, and its place among the others."""

    __slots__ = ("_raw", "header", "index", "kept", "key", "prefix_size", "row", "span")

    def __init__(self, raw: bytes, header: int, index: int) -> None:
        self._raw = raw
        self.key = hash(raw)
        self.header = header
        self.prefix_size = header + len(raw)
        self.index = index
        self.kept = False
        """Whether it is found by its bytes."""
        self.span: CachedSpan | None = None
        self.row = 0

    @property
    def raw(self) -> bytes:
        """Nowhere twice: they are most of what a series costs in memory."""
        return self._raw if self.span is None else self.span.raw(self.row)

    def join(self, span: CachedSpan, row: int) -> None:
        """The run has the labels from now on."""
        self._raw, self.span, self.row = b"", span, row

    def leave(self) -> None:
        self._raw, self.span = self.raw, None


class LabelCache:
    """The slots by their bytes, and beside them what numpy looks up by their index."""

    def __init__(self) -> None:
        self.ids: NDArray[np.int64] = np.empty(_INITIAL_CAPACITY, np.int64)
        self.prefix_sizes: NDArray[np.int64] = np.empty(_INITIAL_CAPACITY, np.int64)
        self.masks: NDArray[np.uint64] = np.empty(_INITIAL_CAPACITY, np.uint64)
        # The header that announces exactly one sample: with a value, and without.
        self.valued: NDArray[np.uint64] = np.empty(_INITIAL_CAPACITY, np.uint64)
        self.zero: NDArray[np.uint64] = np.empty(_INITIAL_CAPACITY, np.uint64)
        # A few label sets have a shorter header before the value zero: they have two slots.
        # By the hash of their bytes, which are compared when one is found.
        self._by_header: dict[int, dict[int, Slot]] = {}
        self._free: list[int] = []
        self._next = 0

    def __len__(self) -> int:
        return sum(map(len, self._by_header.values()))

    def get(self, raw: bytes, header: int) -> Slot | None:
        slots = self._by_header.get(header)
        slot = slots.get(hash(raw)) if slots else None
        return slot if slot is not None and slot.raw == raw else None

    def stage(self, raw: bytes, header: int) -> Slot:
        """A slot that is not found by its bytes before it is kept."""
        return Slot(raw, header, self._free.pop() if self._free else self._new_index())

    def fill(self, slots: Sequence[Slot]) -> None:
        """The columns of new slots; no number yet."""
        place = np.array([slot.index for slot in slots], np.int64)
        header = np.array([slot.header for slot in slots], np.int64)
        prefix_sizes = np.array([slot.prefix_size for slot in slots], np.int64)
        self.ids[place] = REFUSED
        self.prefix_sizes[place] = prefix_sizes
        self.masks[place] = _MASKS[header]
        self.valued[place] = _headers(prefix_sizes - header + VALUED, header)
        self.zero[place] = _headers(prefix_sizes - header + ZERO, header)

    def keep(self, slot: Slot) -> None:
        """Unless another has the same hash: then this one is read anew each time."""
        slots = self._by_header.setdefault(slot.header, {})
        slot.kept = slots.setdefault(slot.key, slot) is slot

    def discard(self, slot: Slot) -> None:
        """Its index will be another's, so it must not be found by anything any more."""
        if slot.kept:
            del self._by_header[slot.header][slot.key]
            slot.kept = False
        if slot.span is not None:
            slot.span.drop(slot)
        self._free.append(slot.index)

    def forget(self, alive: NDArray[np.bool_]) -> int:
        """Drops the slots of series that are not alive; tells how many."""
        everyone = [slot for slots in self._by_header.values() for slot in slots.values()]
        old = [slot for slot in everyone if not self._is_alive(slot, alive)]
        for slot in old:
            self.discard(slot)
        return len(old)

    def _is_alive(self, slot: Slot, alive: NDArray[np.bool_]) -> bool:
        series = self.ids[slot.index]
        return bool(series < len(alive) and alive[series])

    def _new_index(self) -> int:
        index = self._next
        self._next += 1
        if index == len(self.ids):
            for name in _COLUMNS:
                column = getattr(self, name)
                setattr(self, name, np.concatenate([column, np.empty_like(column)]))
        return index


def header_length(size: int) -> int:
    """Bytes of a tag and of this size as a varint."""
    return 1 + max(1, -(-size.bit_length() // 7))


def _headers(sizes: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Tag and size as they stand in the buffer; none where they are not of that length."""
    varints = np.zeros(len(sizes), np.int64)
    for place in range(MAX_HEADER - 1):
        more = (sizes >> 7 * (place + 1)) > 0
        group = (sizes >> 7 * place & 0x7F) | np.where(more, 0x80, 0)
        here = (place == 0) | (sizes >> 7 * place > 0)
        varints |= np.where(here, group << 8 * place, 0)
    needed = 2 + sum((sizes >> 7 * place > 0).astype(np.int64) for place in range(1, MAX_HEADER))
    return np.where(needed == lengths, varints << 8 | SERIES_TAG, _NO_HEADER).astype(np.uint64)
