"""Label sets in the order that they came in: a whole stretch of a request is guessed, and proved.

Most of what a sender sends it sent in the same order before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from archive.decode_image import image_of
from archive.decode_slots import VALUED, ZERO, Slot
from archive.decode_words import WORD, Places, Words, end_in_time

TIME_TAG: Final = 0x10
_LONGEST: Final = 2_048  # slots: what a changed length moves behind it must be little
# Room for samples that get a value: a bytearray that must grow takes an eighth more than it needs.
_SPARE: Final = 64
_GONE: Final = -1  # the index of a slot that left
_BACK_TO_VALUE: Final = VALUED - 3  # bytes of a sample
_LENGTH: Final = np.uint64(0xFF)  # of a sample without a value, in its last word
_NOTHING: Final = np.uint64(0)


class Stretch(NamedTuple):
    """Series one behind the other, proved to be those of the run with a plain sample each."""

    indices: Places
    endings: Words  # the last word of each sample, which ends in its time
    bits: Words
    end: int  # where the next series begins


class Run:
    """Slots as one request had them. A slot is in one run at most, or it could not be forgotten."""

    def __init__(self, slots: Sequence[Slot], sizes: Places) -> None:
        """`sizes` are the bytes of the sample behind each, which seldom change."""
        self.slots: list[Slot] = []
        self._left = 0
        # A request that holds nothing but this run; the labels are nowhere else.
        self._image = bytearray()
        self._index: Places = np.empty(0, np.int64)
        self._ends: Places = np.empty(0, np.int64)
        self._valued: NDArray[np.bool_] = np.empty(0, np.bool_)
        self._backs: Places = np.empty(0, np.int64)  # from the end to a word that may be blanked
        self._masks: Words = np.empty(0, np.uint64)  # what of the last word is not blank
        self._append(slots, sizes)

    def continued(self, slots: Sequence[Slot], sizes: Places) -> bool:
        """Takes in what came after it, if these are of no run yet and nothing has left this one."""
        if self._left < len(self.slots) or len(self.slots) + len(slots) > _LONGEST:
            return False
        if any(slot.run is not None for slot in slots):
            return False
        self._append(slots, sizes)
        return True

    def _append(self, slots: Sequence[Slot], sizes: Places) -> None:
        first, count = len(self.slots), len(slots)
        index = np.array([slot.index for slot in slots], np.int64)
        self._index = np.concatenate([self._index, index])
        for name in ("_ends", "_valued", "_backs", "_masks"):
            column = getattr(self, name)
            setattr(self, name, np.concatenate([column, np.zeros(count, column.dtype)]))
        made = self._made(first, slots, sizes.tolist())
        self._image = bytearray().join((self._image, made, bytes(len(made) // _SPARE)))
        del self._image[self._begin(first + count) :]  # what it allocated stays
        for row, slot in enumerate(slots, first):
            if slot.run is not None:
                slot.run.drop(slot)
            slot.join(self, row)
        self.slots += slots
        self._left += count

    def _made(self, row: int, slots: Sequence[Slot], sizes: Sequence[int]) -> bytes:
        """The image of these, which stand from `row` on; sets their columns."""
        made = [
            image_of(slot.raw, slot.span, size) for slot, size in zip(slots, sizes, strict=True)
        ]
        rows = slice(row, row + len(made))
        valued = np.array([size == VALUED for _, size in made], np.bool_)
        self._ends[rows] = np.cumsum([len(image) for image, _ in made]) + self._begin(row)
        self._valued[rows] = valued
        self._backs[rows] = np.where(valued, _BACK_TO_VALUE, WORD)
        self._masks[rows] = np.where(valued, _NOTHING, _LENGTH)
        return b"".join(image for image, _ in made)

    def __len__(self) -> int:
        return len(self.slots)

    def raw(self, row: int) -> bytes:
        """The labels of the slot in this row."""
        slot, end = self.slots[row], int(self._ends[row]) - self._size(row)
        return bytes(self._image[end - slot.span + slot.header : end])

    def rows(self, first: int, end: int) -> Iterator[tuple[Slot, bytes]]:
        """Slots with their labels, up to the first that left the run."""
        for row in range(first, min(end, len(self.slots))):
            if self.slots[row].run is not self:
                return
            yield self.slots[row], self.raw(row)

    def follow(self, memory: bytearray, words: Words, at: int, stop: int, row: int) -> Stretch:
        """What of this run, from `row` on, stands in the memory from `at` on to before `stop`.

        Values and times are blanked while the rest is compared with the image in one go.
        """
        shift = at - self._begin(row)
        end = self._unbroken(row, row + int(self._ends[row:].searchsorted(stop - shift, "right")))
        ends = self._ends[row:end] + shift
        last, value = ends - WORD, ends - self._backs[row:end]
        endings, bits = words[last], words[value]
        try:
            words[value] = _NOTHING
            words[last] = endings & self._masks[row:end]
            count = self._alike(memory, at, row, end)
        finally:  # whoever reads on after a failure must not read blanks for values
            words[last] = endings
            words[value] = bits
        timed = end_in_time(endings, TIME_TAG)
        if not timed.all():
            count = min(count, int(timed.argmin()))
        bits = np.where(self._valued[row : row + count], bits[:count], _NOTHING)
        at = int(ends[count - 1]) if count else at
        return Stretch(self._index[row : row + count], endings[:count], bits, at)

    def resized(self, memory: bytearray, at: int, stop: int, row: int) -> bool:
        """Whether the series here is the one of this row with a sample of another size.

        It counts from now on, and is still to be proved.
        """
        slot = self.slots[row]
        place = at + slot.span
        if slot.run is not self or place + ZERO > stop:
            return False
        size = memory[place + 1] + 2  # its tag and its length come before what it holds
        if size not in (VALUED, ZERO) or size == self._size(row):
            return False
        if not memory.startswith(self.raw(row), at + slot.header):
            return False
        return self._resize(row, size)

    def _resize(self, row: int, size: int) -> bool:
        """What `learn_sizes` does, at the price of one; False when its header has no room for it."""
        image, found = image_of(self.raw(row), self.slots[row].span, size)
        begin, end = self._begin(row), int(self._ends[row])
        if found != size:
            return False
        self._image[begin:end] = image
        self._ends[row:] += begin + len(image) - end
        valued = size == VALUED
        self._valued[row] = valued
        self._backs[row] = _BACK_TO_VALUE if valued else WORD
        self._masks[row] = _NOTHING if valued else _LENGTH
        return True

    def learn_sizes(self, row: int, sizes: Sequence[int]) -> None:
        """Of the samples from this row on: whatever stands behind them moves."""
        end = row + len(sizes)
        if all(self._size(row + place) == size for place, size in enumerate(sizes)):
            return
        begin, stop = self._begin(row), int(self._ends[end - 1])
        image = self._made(row, self.slots[row:end], sizes)
        self._image[begin:stop] = image
        self._ends[end:] += begin + len(image) - stop

    def drop(self, slot: Slot) -> None:
        """It must not be found here any more. A run that lost its half is none."""
        self._let_go(slot)
        if 2 * self._left < len(self.slots):
            for each in self.slots:
                if each.run is self:
                    self._let_go(each)

    def _let_go(self, slot: Slot) -> None:
        slot.leave()
        self._index[slot.row] = _GONE
        self._left -= 1

    def _begin(self, row: int) -> int:
        return int(self._ends[row - 1]) if row else 0

    def _size(self, row: int) -> int:
        return VALUED if self._valued[row] else ZERO

    def _unbroken(self, row: int, end: int) -> int:
        """The end, or the first before it that has left."""
        if self._left == len(self.slots):
            return end
        gone = (self._index[row:end] == _GONE).nonzero()[0]
        return row + int(gone[0]) if len(gone) else end

    def _alike(self, memory: bytearray, at: int, row: int, end: int) -> int:
        """How many series from `row` on stand in the memory, byte by byte."""
        begin, stop = self._begin(row), self._begin(end)
        if memory.startswith(memoryview(self._image)[begin:stop], at):
            return end - row
        here = np.frombuffer(memory, np.uint8, stop - begin, at)
        there = np.frombuffer(self._image, np.uint8, stop - begin, begin)
        differs = begin + int((here != there).argmax())
        return int(self._ends.searchsorted(differs, "right")) - row
