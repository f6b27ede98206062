"""A cache of decoded label sets, by their bytes or by the span that contains them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from archive.remote_write.varint_vector import Places, Words

if TYPE_CHECKING:
    from archive.remote_write.v1.span_cache import CachedSpan

SERIES_TAG: Final = 0x0A
VALUED: Final = 18
"""Bytes of a sample with a value and a six-byte time, with its header."""
ZERO: Final = 9
"""Bytes of a sample with the value zero, which protobuf omits."""
MAX_HEADER: Final = 3  # bytes: a tag and a size below 16 KiB; larger series are read field by field


class Slot(msgspec.Struct, eq=False):
    """One cached label set. A struct, because it costs a third of a class to create."""

    own_raw: bytes
    """Empty while a span stores the labels."""
    header: int
    """Bytes of the header before the labels."""
    prefix_size: int
    index: int
    kept: bool = True
    """Whether the cache finds it by its bytes."""
    span: CachedSpan | None = None
    row: int = 0

    @property
    def raw(self) -> bytes:
        """Stored once, in the slot or its span: labels are most of the memory of a series."""
        return self.own_raw if self.span is None else self.span.raw(self.row)

    def leave(self) -> None:
        self.own_raw, self.span = self.raw, None


class LabelCache:
    """Slots by their bytes, and series ids by slot index."""

    def __init__(self) -> None:
        self.ids: NDArray[np.int64] = np.empty(0, np.int64)
        # By header length and hash of the bytes, which are compared then. Some label sets have a
        # shorter header for the value zero, and therefore two slots.
        self._by_header: dict[int, dict[int, Slot]] = {2: {}, MAX_HEADER: {}}
        self._free: list[int] = []
        self._next = 0

    def __len__(self) -> int:
        return sum(map(len, self._by_header.values()))

    def get_or_add(self, raw: bytes, header: int) -> tuple[Slot, bool]:
        """The slot of these labels, and whether it is new: without a series id.

        A new slot is found again, unless another has the same hash.
        """
        slots, key = self._by_header[header], hash(raw)
        known = slots.get(key)
        if known is not None and known.raw == raw:
            return known, False
        if self._free:
            index = self._free.pop()
        else:
            index = self._next
            self._next = index + 1
        slot = Slot(raw, header, header + len(raw), index, known is None)
        if known is None:
            slots[key] = slot
        return slot, True

    def assign(self, slots: Sequence[Slot], ids: Sequence[int]) -> None:
        missing = self._next - len(self.ids)
        if missing > 0:
            more = np.empty(max(missing, len(self.ids)), np.int64)
            self.ids = np.concatenate([self.ids, more])
        self.ids[[slot.index for slot in slots]] = ids

    def discard(self, slot: Slot) -> None:
        """Removes the slot from the cache and its span; its index is reused."""
        if slot.kept:
            del self._by_header[slot.header][hash(slot.raw)]
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


def are_headers(words: Words, lengths: Places, sizes: Places) -> NDArray[np.bool_]:
    """Which words begin with the tag of a series and this size, in a header of this length."""
    short, is_long = sizes << 8, lengths == MAX_HEADER
    long = (sizes & 0x7F | 0x80) << 8 | sizes >> 7 << 16
    expected = np.where(is_long, long, short) | SERIES_TAG
    found = words.view(np.int64) & np.where(is_long, 0xFFFFFF, 0xFFFF)
    right: NDArray[np.bool_] = (found == expected) & (is_long == (sizes > 0x7F))
    return right
