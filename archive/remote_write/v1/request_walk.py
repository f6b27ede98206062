"""From series to series through a 1.0 request: known label sets by their runs, others by a look.

A look proves nothing: whoever reads single rows must check that they are what they were taken for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from archive.remote_write.label_reader import end_of_labels
from archive.remote_write.protobuf import LENGTH, read_varint
from archive.remote_write.v1.connection_cursor import Line
from archive.remote_write.v1.label_cache import (
    MOST_HEADER,
    SERIES_TAG,
    VALUED,
    ZERO,
    Slot,
    SlotTable,
)
from archive.remote_write.v1.span_cache import Run, Stretch
from archive.remote_write.v1.warm_start import KnownBefore
from archive.remote_write.varint_vector import words_of

# Bytes of a plain sample by its length, which does not count its tag and itself.
_SIZES: Final = {VALUED - 2: VALUED, ZERO - 2: ZERO}
# A guess costs as much as so many series taken one by one; after a poor one these come first.
_POOR: Final = 24
# One in so many may be out of its order before the request is remembered as it came.
_ORDERLY: Final = 32
_FEW_LOOKS: Final = 2  # where it begins, and where one run ends and another begins


class NotPlainError(Exception):
    """The quick way does not fit this request; nothing has been taken over from it."""


@dataclass(slots=True)
class Walk:
    """A request on the quick way: plain rows in their order, and what is to be read slowly."""

    new: dict[tuple[bytes, int], Slot] = field(default_factory=dict)
    others: list[tuple[int, int, int]] = field(default_factory=list)  # number, start, stop
    rows: int = 0
    looks: int = 0  # series that no run told
    requests: list[tuple[Line, int, int]] = field(default_factory=list)  # rows: the first, the end
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
    memory: bytearray,
    begin: int,
    end: int,
    table: SlotTable,
    known: KnownBefore,
    line: Line,
    walk: Walk,
) -> None:
    """Fills the walk. Raises NotPlainError, MalformedError or IndexError when it does not fit."""
    known.begin_request()
    way, first = _Way(memory, begin, end, table, known, line, walk), walk.rows
    way.go()
    if way.at != end:
        raise NotPlainError
    line.run, line.row = way.run, way.row
    walk.requests.append((line, first, walk.rows))


def is_out_of_order(walk: Walk, refused: int) -> bool:
    """Whether the next request like this one would be read sooner if its order were remembered."""
    return walk.looks - refused > _FEW_LOOKS * len(walk.requests) + walk.rows // _ORDERLY


class _Way:
    """Where a request is being read: `at` this byte, where `row` of this run should stand."""

    def __init__(
        self,
        memory: bytearray,
        begin: int,
        end: int,
        table: SlotTable,
        known: KnownBefore,
        line: Line,
        walk: Walk,
    ) -> None:
        self._memory = memory
        self._words = words_of(memory)
        self._size = end
        self._table = table
        self._known = known
        self._walk = walk
        self.at, self.run, self.row = begin, line.run, line.row
        self._alone, self._patience = 0, _POOR
        self._doubt = True  # where the run should go on is a guess: a look costs less than a try
        self._left: tuple[Run, int] | None = None  # where a jump began that has proved nothing yet

    def go(self) -> None:
        while self.at < self._size:
            if self.row < len(self.run) and (self._follow() or self.at >= self._size):
                continue
            if not self._jump():
                self._look()

    def _follow(self) -> bool:
        """Takes what the run tells. True when it has more to tell."""
        begin = self.row
        more = self._one_by_one(self._alone) if self._alone else self._stretch()
        if more or self.row > begin:
            self._left = None
        return more

    def _stretch(self) -> bool:
        run, begin = self.run, self.row
        if self._doubt and not run.stands(self._memory, self.at, begin):
            return False
        stretch = run.follow(self._memory, self._words, self.at, self._size, begin)
        count = len(stretch.indices)
        self._doubt = not count
        if count:
            self._walk.add_stretch(stretch, run, begin)
            self.at, self.row = stretch.end, begin + count
        if self.at >= self._size or self.row >= len(run):
            return False
        resized = run.resized(self._memory, self.at, self._size, self.row)
        if count >= _POOR:
            self._patience = _POOR
        elif count or resized:
            self._alone, self._patience = self._patience, 2 * self._patience
        return resized

    def _one_by_one(self, most: int) -> bool:
        """Where values come from zero or go there all the time, so that no guess holds for long."""
        memory, size, at, begin = self._memory, self._size, self.at, self.row
        sizes: list[int] = []
        for slot, raw in self.run.rows(begin, begin + most):
            if at >= size or not memory.startswith(raw, at + slot.header):
                break
            place = at + slot.span
            length = _SIZES.get(memory[place + 1])
            if length is None:
                break
            at = place + length
            self._walk.add(slot, place)
            sizes.append(length)
        self.run.learn_sizes(begin, sizes)
        self.at, self.row, self._alone = at, begin + len(sizes), 0
        return bool(sizes)

    def _jump(self) -> bool:
        """To where it went on from here the last time, unless that was tried already."""
        following = self.run.next_from(self.row) if self._left is None else None
        if following is None:
            return False
        self._left = self.run, self.row
        self.run, self.row = following
        self._doubt = True
        return True

    def _look(self) -> None:
        if self._left is not None:
            (self.run, self.row), self._left = self._left, None
            self.run.forget_next(self.row)
        slot, place, end = self._slot_here()
        if slot is None:
            self.at = end
        elif slot.run is None or (slot.run is self.run and slot.row == self.row):
            # No run tells it, or one that has just failed.
            self._walk.add(slot, place)
            self.at, self.row = end, self.row if slot.run is None else self.row + 1
        else:
            self.run.learn_next(self.row, slot.run, slot.row)
            self.run, self.row, self._doubt = slot.run, slot.row, False

    def _slot_here(self) -> tuple[Slot | None, int, int]:
        """The slot of the series that begins here, if it is a plain one; its sample and its end."""
        memory, at, walk = self._memory, self.at, self._walk
        start, end = _content(memory, at, self._size)
        if memory[at] == SERIES_TAG and start - at <= MOST_HEADER:
            labels_end = end_of_labels(memory, start, end)
            if _SIZES.get(memory[labels_end + 1]) == end - labels_end:
                walk.looks += 1
                return self._slot(bytes(memory[start:labels_end]), start - at), labels_end, end
        walk.others.append((memory[at] >> 3, start, end))
        return None, end, end

    def _slot(self, raw: bytes, header: int) -> Slot:
        table, new = self._table, self._walk.new
        slot = table.get(raw, header) or new.get((raw, header))
        slot = slot or self._known.slot(raw, header, table)
        if slot is None:
            slot = new[raw, header] = table.stage(raw, header)
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
