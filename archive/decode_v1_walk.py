"""From series to series through a 1.0 request: known label sets by their runs, others by a look.

A look proves nothing: whoever reads single rows must check that they are what they were taken for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from archive.decode_known import KnownBefore
from archive.decode_runs import Run, Stretch
from archive.decode_slots import MOST_HEADER, SERIES_TAG, VALUED, ZERO, Slot, SlotTable
from archive.decode_words import Words
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
    """A request on the quick way: plain rows in their order, and what is to be read slowly."""

    new: dict[tuple[bytes, int], Slot] = field(default_factory=dict)
    others: list[tuple[int, int, int]] = field(default_factory=list)  # number, start, stop
    rows: int = 0
    looks: int = 0  # series that no run told
    stretches: list[tuple[int, Stretch]] = field(default_factory=list)  # behind their first row
    # Those beside them, which nobody has proved: row, slot, and where the sample begins.
    single_rows: list[int] = field(default_factory=list)
    singles: list[Slot] = field(default_factory=list)
    single_places: list[int] = field(default_factory=list)
    _runs: list[tuple[Run, int]] = field(default_factory=list)  # and the row in it, of each stretch

    def add(self, slot: Slot, place: int) -> None:
        self.single_rows.append(self.rows)
        self.singles.append(slot)
        self.single_places.append(place)
        self.rows += 1

    def add_stretch(self, stretch: Stretch, run: Run, first: int) -> None:
        self.stretches.append((self.rows, stretch))
        self._runs.append((run, first))
        self.rows += len(stretch.indices)

    def slots(self) -> list[Slot]:
        """Of each row. Not for every request: to look at each of them takes its time."""
        found = dict(zip(self.single_rows, self.singles, strict=True))
        for (row, stretch), (run, first) in zip(self.stretches, self._runs, strict=True):
            found |= enumerate(run.slots[first : first + len(stretch.indices)], row)
        return [found[row] for row in range(self.rows)]


def walk_request(
    memory: bytearray, words: Words, size: int, table: SlotTable, known: KnownBefore, walk: Walk
) -> None:
    """Fills the walk. Raises NotPlainError, MalformedError or IndexError when it does not fit."""
    known.begin_request()
    at, run, row = 0, _NO_RUN, 0
    alone, patience = 0, _POOR
    while at < size:
        if row < len(run):
            begin, told = row, False
            if alone:
                at, row = _one_by_one(memory, at, size, run, row, alone, walk)
                alone, told = 0, row > begin
            else:
                stretch = run.follow(memory, words, at, size, row)
                at, row = stretch.end, row + len(stretch.indices)
                walk.add_stretch(stretch, run, begin)
                if at < size and row < len(run):  # it was broken off
                    poor = row - begin < _POOR
                    alone, patience = (patience, 2 * patience) if poor else (0, _POOR)
                    told = run.resized(memory, at, size, row)
            if told or at >= size:
                continue
        slot, place, end = _look(memory, at, size, table, known, walk)
        if slot is None:
            at = end
        elif slot.run is None or (slot.run is run and slot.row == row):
            # No run tells it, or one that has just failed.
            walk.add(slot, place)
            at, row = end, row if slot.run is None else row + 1
        else:
            run, row = slot.run, slot.row
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


def _look(
    memory: bytearray, at: int, size: int, table: SlotTable, known: KnownBefore, walk: Walk
) -> tuple[Slot | None, int, int]:
    """The slot of the series that begins here, if it is a plain one; its sample and its end."""
    start, end = _content(memory, at, size)
    if memory[at] == SERIES_TAG and start - at <= MOST_HEADER:
        labels_end = end_of_labels(memory, start, end)
        length = end - labels_end
        if length in (VALUED, ZERO) and memory[labels_end + 1] == length - 2:
            walk.looks += 1
            slot = _slot(bytes(memory[start:labels_end]), start - at, table, known, walk)
            return slot, labels_end, end
    walk.others.append((memory[at] >> 3, start, end))
    return None, end, end


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
