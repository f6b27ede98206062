"""A cache of decoded label sets, by their bytes or by the span that contains them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from archive.remote_write.result import REFUSED

if TYPE_CHECKING:
    from archive.remote_write.v1.span_cache import CachedSpan

SERIES_TAG: Final = 0x0A
VALUED: Final = 18
"""Bytes of a sample with a value and a six-byte time, with its header."""
ZERO: Final = 9
"""Bytes of a sample with the value zero, which protobuf omits."""
_NO_HEADER: Final = 0  # no header: a real one begins with a tag, which is not zero
MAX_HEADER: Final = 6  # bytes: a tag and a size below 32 GiB
_MASKS: Final = np.array([(1 << 8 * length) - 1 for length in range(MAX_HEADER + 1)], np.uint64)
_INITIAL_CAPACITY: Final = 1024
_COLUMNS: Final = ("ids", "prefix_sizes", "masks", "valued", "zero")


class Slot:
    """One cached label set: its bytes, the length of the header before them, and its index."""

    __slots__ = ("_raw", "header", "index", "kept", "key", "prefix_size", "row", "span")

    def __init__(self, raw: bytes, header: int, index: int) -> None:
        self._raw = raw
        self.key = hash(raw)
        self.header = header
        self.prefix_size = header + len(raw)
        self.index = index
        self.kept = False
        """Whether the cache finds it by its bytes."""
        self.span: CachedSpan | None = None
        self.row = 0

    @property
    def raw(self) -> bytes:
        """Stored once, in the slot or its span: labels are most of the memory of a series."""
        return self._raw if self.span is None else self.span.raw(self.row)

    def join(self, span: CachedSpan, row: int) -> None:
        """The span stores the labels from now on."""
        self._raw, self.span, self.row = b"", span, row

    def leave(self) -> None:
        self._raw, self.span = self.raw, None


class LabelCache:
    """Slots by their bytes, and columns by slot index for numpy."""

    def __init__(self) -> None:
        self.ids: NDArray[np.int64] = np.empty(_INITIAL_CAPACITY, np.int64)
        self.prefix_sizes: NDArray[np.int64] = np.empty(_INITIAL_CAPACITY, np.int64)
        self.masks: NDArray[np.uint64] = np.empty(_INITIAL_CAPACITY, np.uint64)
        # The header of a series with exactly one sample: with a value, and with value zero.
        self.valued: NDArray[np.uint64] = np.empty(_INITIAL_CAPACITY, np.uint64)
        self.zero: NDArray[np.uint64] = np.empty(_INITIAL_CAPACITY, np.uint64)
        # By header length and hash of the bytes; `get` compares the bytes. Some label sets have a
        # shorter header for the value zero, and therefore two slots.
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
        """A new slot. `get` does not find it before `keep`."""
        return Slot(raw, header, self._free.pop() if self._free else self._new_index())

    def fill(self, slots: Sequence[Slot]) -> None:
        """Sets the columns of new slots, without a series id."""
        place = np.array([slot.index for slot in slots], np.int64)
        header = np.array([slot.header for slot in slots], np.int64)
        prefix_sizes = np.array([slot.prefix_size for slot in slots], np.int64)
        self.ids[place] = REFUSED
        self.prefix_sizes[place] = prefix_sizes
        self.masks[place] = _MASKS[header]
        self.valued[place] = _headers(prefix_sizes - header + VALUED, header)
        self.zero[place] = _headers(prefix_sizes - header + ZERO, header)

    def keep(self, slot: Slot) -> None:
        """Makes the slot findable, unless another slot has the same hash."""
        slots = self._by_header.setdefault(slot.header, {})
        slot.kept = slots.setdefault(slot.key, slot) is slot

    def discard(self, slot: Slot) -> None:
        """Removes the slot from the cache and its span; its index is reused."""
        if slot.kept:
            del self._by_header[slot.header][slot.key]
            slot.kept = False
        if slot.span is not None:
            slot.span.drop(slot)
        self._free.append(slot.index)

    def forget(self, are_alive: Callable[[NDArray[np.int64]], NDArray[np.bool_]]) -> int:
        """Evicts the slots of series that are not alive; returns how many."""
        everyone = [slot for slots in self._by_header.values() for slot in slots.values()]
        alive = are_alive(self.ids[[slot.index for slot in everyone]]) if everyone else ()
        old = [slot for slot, is_alive in zip(everyone, alive, strict=True) if not is_alive]
        for slot in old:
            self.discard(slot)
        return len(old)

    def _new_index(self) -> int:
        index = self._next
        self._next += 1
        if index == len(self.ids):
            for name in _COLUMNS:
                column = getattr(self, name)
                setattr(self, name, np.concatenate([column, np.empty_like(column)]))
        return index


def header_length(size: int) -> int:
    """Bytes of a tag and a varint of this size."""
    return 1 + max(1, -(-size.bit_length() // 7))


def _headers(sizes: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Tag and size as in the buffer; _NO_HEADER where they do not have that length."""
    varints = np.zeros(len(sizes), np.int64)
    for place in range(MAX_HEADER - 1):
        more = (sizes >> 7 * (place + 1)) > 0
        group = (sizes >> 7 * place & 0x7F) | np.where(more, 0x80, 0)
        here = (place == 0) | (sizes >> 7 * place > 0)
        varints |= np.where(here, group << 8 * place, 0)
    needed = 2 + sum((sizes >> 7 * place > 0).astype(np.int64) for place in range(1, MAX_HEADER))
    return np.where(needed == lengths, varints << 8 | SERIES_TAG, _NO_HEADER).astype(np.uint64)
