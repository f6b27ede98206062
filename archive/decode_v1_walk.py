"""From series to series through a 1.0 request: known label sets by their runs, others by a look.

Nothing here is proved: whoever reads the rows must check that they are what they were taken for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from archive.decode_known import KnownBefore
from archive.decode_runs import Run, Stretch
from archive.decode_slots import MOST_HEADER, SERIES_TAG, VALUED, ZERO, Slot, SlotTable
from archive.decode_words import Places
from archive.labels_read import end_of_labels
from archive.wire import LENGTH, read_varint

_VALUED_SIZE: Final = VALUED - 2
_ZERO_SIZE: Final = ZERO - 2
# A guess costs as much as so many series taken one by one; after a poor one these come first.
_POOR: Final = 24
# One in so many may be out of its order before the request is remembered as it came.
_ORDERLY: Final = 32
_FEW_LOOKS: Final = 2  # where it begins, and where one run ends and another begins
_NO_RUN: Final = Run((), np.empty(0, np.int64))


class NotPlainError(Exception):
    """The quick way does not fit this request; nothing has been taken over from it."""


@dataclass(slots=True)
class Walk:
    """A request on the quick way: plain rows by slot and place, and what is to be read slowly."""

    new: dict[tuple[bytes, int], Slot] = field(default_factory=dict)
    others: list[tuple[int, int, int]] = field(default_factory=list)  # number, start, stop
    rows: int = 0
    looks: int = 0  # series that no run told
    _index: list[Places] = field(default_factory=list)
    _places: list[Places] = field(default_factory=list)  # where each sample begins
    _told_by: list[Sequence[Slot] | tuple[Run, int, int]] = field(default_factory=list)
    _single: list[Slot] = field(default_factory=list)  # since the last stretch
    _single_places: list[int] = field(default_factory=list)

    def add(self, slot: Slot, place: int) -> None:
        self._single.append(slot)
        self._single_places.append(place)
        self.rows += 1

    def add_stretch(self, stretch: Stretch, run: Run, first: int) -> None:
        self._flush()
        count = len(stretch.indices)
        self._index.append(stretch.indices)
        self._places.append(stretch.places)
        self._told_by.append((run, first, first + count))
        self.rows += count

    def columns(self) -> tuple[Places, Places]:
        """Index and place of each row."""
        self._flush()
        if not self._index:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        if len(self._index) == 1:
            return self._index[0], self._places[0]
        return np.concatenate(self._index), np.concatenate(self._places)

    def slots(self) -> Iterator[Slot]:
        """Of each row. Not for every request: to look at each of them takes its time."""
        self._flush()
        for part in self._told_by:
            if isinstance(part, tuple):
                run, first, end = part
                yield from run.slots[first:end]
            else:
                yield from part

    def _flush(self) -> None:
        if self._single:
            self._index.append(np.array([slot.index for slot in self._single], np.int64))
            self._places.append(np.array(self._single_places, np.int64))
            self._told_by.append(self._single)
            self._single, self._single_places = [], []


def walk_request(
    memory: bytearray, size: int, table: SlotTable, known: KnownBefore, walk: Walk
) -> None:
    """Fills the walk. Raises NotPlainError, MalformedError or IndexError when it does not fit."""
    known.begin_request()
    octets = np.frombuffer(memory, np.uint8)
    at, run, row = 0, _NO_RUN, 0
    alone, patience = 0, _POOR
    while at < size:
        if row < len(run):
            begin = row
            if alone:
                at, row = _one_by_one(memory, at, size, run, row, alone, walk)
                alone, told = 0, row > begin
            else:
                stretch = run.follow(memory, octets, at, size, row)
                at, row = stretch.end, row + len(stretch.indices)
                walk.add_stretch(stretch, run, begin)
                if row - begin < _POOR:
                    alone, patience = patience, 2 * patience
                else:
                    patience = _POOR
                told = stretch.resized
            if told:
                continue
        if at < size:
            slot, at = _take_unforeseen(memory, at, size, table, known, walk)
            if slot is not None and slot.run is not None:
                run, row = slot.run, slot.row + 1
    if at != size:
        raise NotPlainError


def is_out_of_order(walk: Walk, refused: int) -> bool:
    """Whether the next request like this one would be read sooner if its order were remembered."""
    return walk.looks - refused > _FEW_LOOKS + walk.rows // _ORDERLY


def _one_by_one(
    memory: bytearray, at: int, size: int, run: Run, row: int, most: int, walk: Walk
) -> tuple[int, int]:
    """Where values come from zero or go there all the time, so that no guess holds for long."""
    starts_with, begin = memory.startswith, row
    sizes: list[int] = []
    for slot, raw in run.rows(row, row + most):
        if at >= size or not starts_with(raw, at + slot.header):
            break
        place = at + slot.span
        length = memory[place + 1]
        if length == _VALUED_SIZE:
            at = place + VALUED
        elif length == _ZERO_SIZE:
            at = place + ZERO
        else:
            break
        walk.add(slot, place)
        sizes.append(at - place)
        row += 1
    run.learn_sizes(begin, sizes)
    return at, row


def _take_unforeseen(
    memory: bytearray, at: int, size: int, table: SlotTable, known: KnownBefore, walk: Walk
) -> tuple[Slot | None, int]:
    """The slot of the series that begins here, if it is a plain one, and where it ends."""
    start, end = _content(memory, at, size)
    if memory[at] == SERIES_TAG and start - at <= MOST_HEADER:
        labels_end = end_of_labels(memory, start, end)
        length = end - labels_end
        if length in (VALUED, ZERO) and memory[labels_end + 1] == length - 2:
            slot = _slot(bytes(memory[start:labels_end]), start - at, table, known, walk)
            walk.add(slot, labels_end)
            walk.looks += 1
            return slot, end
    walk.others.append((memory[at] >> 3, start, end))
    return None, end


def _slot(raw: bytes, header: int, table: SlotTable, known: KnownBefore, walk: Walk) -> Slot:
    slot = table.get(raw, header) or walk.new.get((raw, header)) or known.slot(raw, header, table)
    if slot is None:
        slot = walk.new[raw, header] = table.stage(raw, header)
    return slot


def _content(memory: bytearray, at: int, size: int) -> tuple[int, int]:
    """Start and end of what a field holds; anything but a usual message is not for here."""
    tag = memory[at]
    if tag & 7 != LENGTH or not 0x08 <= tag < 0x80:
        raise NotPlainError
    length, start = read_varint(memory, at + 1, size)
    if start + length > size:
        raise NotPlainError
    return start, start + length
