"""Label sets in the order that they came in: a whole stretch of a request is guessed, and proved.

Most of what a sender sends it sent in the same order before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from archive.decode_slots import UNLIKE_ANY, VALUED, ZERO, Slot
from archive.decode_words import Places

Octets = NDArray[np.uint8]

_LONGEST: Final = 4_096  # slots: what a changed length moves behind it must be little
_HEAD: Final = 2  # bytes before the content of a sample: its tag and its length


class Stretch(NamedTuple):
    """Series one behind the other whose labels are those of the run, and where the next begins."""

    indices: Places
    places: Places  # where each sample begins
    end: int
    resized: bool  # it ends with a sample of another length than last time, and the run may go on


class Run:
    """Slots as one request had them. A slot is in one run at most, or it could not be forgotten."""

    def __init__(self, slots: Sequence[Slot], sizes: Places) -> None:
        """`sizes` are the bytes of the sample behind each, which seldom change."""
        self.slots: list[Slot] = []
        self._raws: list[bytes] = []
        self._left = 0
        none = np.empty(0, np.int64)
        self._index, self._sizes = none, none
        # As in a request that holds nothing but this run: where labels, samples and series end.
        self._ends, self._samples, self._labels = none, none, none
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
        headers = np.array([slot.header for slot in slots], np.int64)
        spans = np.array([slot.span for slot in slots], np.int64)
        index = np.array([slot.index for slot in slots], np.int64)
        ends = np.cumsum(spans + sizes) + self._begin(len(self.slots))
        self._index = np.concatenate([self._index, index])
        self._sizes = np.concatenate([self._sizes, sizes])
        self._ends = np.concatenate([self._ends, ends])
        self._samples = np.concatenate([self._samples, ends - sizes])
        self._labels = np.concatenate([self._labels, ends - sizes - spans + headers])
        for row, slot in enumerate(slots, len(self.slots)):
            if slot.run is not None:
                slot.run.drop(slot)
            slot.run, slot.row = self, row
        self.slots += slots
        self._raws += [slot.raw for slot in slots]
        self._left += len(slots)

    def __len__(self) -> int:
        return len(self.slots)

    def rows(self, first: int, end: int) -> Iterable[tuple[Slot, bytes]]:
        """Slots and what their labels must be; of one that left the run, something else."""
        return zip(self.slots[first:end], self._raws[first:end], strict=True)

    def follow(self, memory: bytearray, octets: Octets, at: int, stop: int, row: int) -> Stretch:
        """What of this run, from `row` on, stands in the memory from `at` on to before `stop`."""
        shift = at - self._begin(row)
        end = row + int(self._ends[row:].searchsorted(stop - shift, "right"))
        end = row + self._alike(memory, row, end, shift)
        places = self._samples[row:end] + shift
        sizes = octets[places + 1] + np.int64(_HEAD)
        other = (sizes != self._sizes[row:end]).nonzero()[0]
        if len(other):
            return self._until(row, row + int(other[0]), places, int(sizes[other[0]]))
        at = int(self._ends[end - 1]) + shift if end > row else at
        return Stretch(self._index[row:end], places, at, resized=False)

    def _begin(self, row: int) -> int:
        return int(self._ends[row - 1]) if row else 0

    def _alike(self, memory: bytearray, row: int, end: int, shift: int) -> int:
        """How many have the labels of the run; compared in C, one call for all."""
        raws, offsets = self._raws[row:end], (self._labels[row:end] + shift).tolist()
        if all(map(memory.startswith, raws, offsets)):
            return end - row
        return [*map(memory.startswith, raws, offsets)].index(False)

    def _until(self, row: int, other: int, places: Places, size: int) -> Stretch:
        """A sample of another length ends the stretch: what follows it is elsewhere this time."""
        count = other - row
        if size not in (VALUED, ZERO):  # no plain one, and not for here
            at = int(places[count]) - self.slots[other].span
            return Stretch(self._index[row:other], places[:count], at, resized=False)
        at = int(places[count]) + size
        self.learn_sizes(other, [size])
        return Stretch(self._index[row : other + 1], places[: count + 1], at, resized=True)

    def learn_sizes(self, row: int, sizes: Sequence[int]) -> None:
        """Of the samples from this row on: whatever stands behind them has moved."""
        end = row + len(sizes)
        more = np.array(sizes, np.int64) - self._sizes[row:end]
        if not more.any():
            return
        self._sizes[row:end] += more
        before = np.cumsum(more)
        self._ends[row:end] += before
        self._ends[end:] += before[-1]
        before -= more
        for column in (self._samples, self._labels):
            column[row:end] += before
            column[end:] += before[-1] + more[-1]

    def drop(self, slot: Slot) -> None:
        """It must not be found here any more. A run that lost its half is none."""
        self._raws[slot.row] = UNLIKE_ANY
        slot.run = None
        self._left -= 1
        if 2 * self._left < len(self.slots):
            for each in self.slots:
                if each.run is self:
                    each.run = None
