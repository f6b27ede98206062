"""Remote write 1.0: a sender repeats itself, so each series is looked for where it was before.

What a prediction does not cover, or what is no plain sample, is read by the rules, one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from archive.batch import NO_SERIES
from archive.decode import Intake
from archive.decode_metadata import MetadataMemory
from archive.decode_result import Rows, SeriesMessage
from archive.decode_slots import MOST_HEADER, NOBODY, SERIES_TAG, VALUED, ZERO, Slot, SlotTable
from archive.decode_v1_series import read_message, read_messages
from archive.decode_words import end_in_time, times_in, words_of
from archive.labels import Label, RefusedError
from archive.labels_read import LabelReader, end_of_labels
from archive.wire import LENGTH, MalformedError, read_varint
from archive.wire_messages import Metadata

_VALUED_SIZE: Final = VALUED - 2
_ZERO_SIZE: Final = ZERO - 2
# The first three bytes of a sample: tag, length, tag of what it begins with.
_START: Final = np.uint64(0xFFFFFF)
_VALUED_START: Final = np.uint64(0x09_10_12)
_ZERO_START: Final = np.uint64(0x10_07_12)
_TIME_TAG: Final = 0x10


class _NotPlainError(Exception):
    """The quick way does not fit this request; nothing has been taken over from it."""


@dataclass(slots=True)
class _Walk:
    """A request on the quick way: plain rows by slot and place, and what is to be read slowly."""

    slots: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)  # where each sample begins
    new: dict[tuple[bytes, int], Slot] = field(default_factory=dict)
    others: list[tuple[int, int, int]] = field(default_factory=list)  # number, start, stop


class DecoderV1:
    def __init__(self) -> None:
        self.table = SlotTable()
        self.metadata = MetadataMemory()
        self._labels = LabelReader()

    def decode(self, memory: bytearray, size: int, intake: Intake) -> None:
        """Fills the intake; raises MalformedError, and then nothing of the request counts."""
        walk = _Walk()
        try:
            messages = self._decode_plain(memory, size, walk, intake)
        except (_NotPlainError, RefusedError, MalformedError, IndexError):
            intake.restart()
            messages = read_messages(memory, size, intake)
        finally:
            # One that is neither kept nor discarded would match next time, and has no number.
            for slot in walk.new.values():
                if self.table.get(slot.raw, slot.header) is not slot:
                    self.table.discard(slot)
        for message in messages:
            self._take(message, intake)

    def _decode_plain(
        self, memory: bytearray, size: int, walk: _Walk, intake: Intake
    ) -> list[SeriesMessage | Metadata]:
        """Takes the plain rows; what remains is given back."""
        self._walk(memory, size, walk)
        rows = self._rows(memory, walk)
        labels = [self._labels.read(raw, intake.limits.labels) for raw, _ in walk.new]
        others = self._read_others(memory, walk, intake)
        self._settle(walk, rows, labels, intake)
        intake.add_rows(rows)
        return others

    def _walk(self, memory: bytearray, size: int, walk: _Walk) -> None:
        starts_with = memory.startswith
        add_slot, add_place = walk.slots.append, walk.places.append
        at, slot = 0, NOBODY
        while at < size:
            guess = slot.follower
            if starts_with(guess.raw, at + guess.header):
                slot = guess
            else:
                found, end = self._look(memory, at, size, walk)
                if found is None:
                    at = end
                    continue
                if slot is not NOBODY:
                    slot.follower = found
                slot = found
            place = at + slot.span
            length = memory[place + 1]
            if length == _VALUED_SIZE:
                at = place + VALUED
            elif length == _ZERO_SIZE:
                at = place + ZERO
            else:  # several samples, an exemplar, a time of another length
                at = self._put_off(memory, at, size, walk)
                continue
            add_slot(slot.index)
            add_place(place)
        if at != size:
            raise _NotPlainError

    def _look(self, memory: bytearray, at: int, size: int, walk: _Walk) -> tuple[Slot | None, int]:
        """The slot of the series that begins here, or None and where it ends."""
        start, end = _content(memory, at, size)
        if memory[at] == SERIES_TAG and start - at <= MOST_HEADER:
            labels_end = end_of_labels(memory, start, end)
            if end - labels_end in (VALUED, ZERO):
                return self._slot(bytes(memory[start:labels_end]), start - at, walk), end
        return None, self._put_off(memory, at, size, walk)

    def _put_off(self, memory: bytearray, at: int, size: int, walk: _Walk) -> int:
        """What begins here is read slowly, later; where it ends."""
        start, end = _content(memory, at, size)
        walk.others.append((memory[at] >> 3, start, end))
        return end

    def _slot(self, raw: bytes, header: int, walk: _Walk) -> Slot:
        slot = self.table.get(raw, header) or walk.new.get((raw, header))
        if slot is None:
            slot = walk.new[raw, header] = self.table.stage(raw, header)
        return slot

    def _rows(self, memory: bytearray, walk: _Walk) -> Rows:
        """Proves that every row is what the walk took it for, and reads all of them at once."""
        table, words = self.table, words_of(memory)
        if walk.new:
            table.fill(list(walk.new.values()))
        index = np.array(walk.slots, np.int64)
        place = np.array(walk.places, np.int64)
        begin = words[place] & _START
        valued = begin == _VALUED_START
        header = words[place - table.spans[index]] & table.masks[index]
        last = words[place + np.where(valued, VALUED - 8, ZERO - 8)]
        right = header == np.where(valued, table.valued[index], table.zero[index])
        right &= valued | (begin == _ZERO_START)
        right &= end_in_time(last, _TIME_TAG)
        if not right.all():
            raise _NotPlainError
        bits = np.where(valued, words[place + 3], np.uint64(0))
        return Rows(index, times_in(last), bits)

    def _read_others(
        self, memory: bytearray, walk: _Walk, intake: Intake
    ) -> list[SeriesMessage | Metadata]:
        intake.count(len(walk.slots))
        intake.count_series(len(walk.slots) + len(walk.others))
        read = [read_message(memory, *other, intake) for other in walk.others]
        return [message for message in read if message is not None]

    def _settle(self, walk: _Walk, rows: Rows, labels: list[list[Label]], intake: Intake) -> None:
        """Gives new label sets their numbers, and the rows those of their slots."""
        index, table = rows.series, self.table
        room = 2 * intake.limits.live_series  # one series may come with its labels in any order
        refused: list[tuple[Slot, list[Label], str]] = []
        for slot, given in zip(walk.new.values(), labels, strict=True):
            try:
                table.ids[slot.index] = intake.identify(given)
            except RefusedError as error:
                refused.append((slot, given, str(error)))
            else:
                if len(table) < room:
                    table.keep(slot)
        if refused:
            counts = np.bincount(index, minlength=max(slot.index for slot, _, _ in refused) + 1)
            for slot, given, reason in refused:
                intake.refuse(reason, given, int(counts[slot.index]))
        rows.series = table.ids[index]

    def _take(self, message: SeriesMessage | Metadata, intake: Intake) -> None:
        if isinstance(message, SeriesMessage):
            intake.take(message)
        elif self.metadata.is_news(message.family, message.data, intake.now):
            intake.add_metadata(NO_SERIES, message.data)


def _content(memory: bytearray, at: int, size: int) -> tuple[int, int]:
    """Start and end of what a field holds; anything but a usual message is not for here."""
    tag = memory[at]
    if tag & 7 != LENGTH or not 0x08 <= tag < 0x80:
        raise _NotPlainError
    length, start = read_varint(memory, at + 1, size)
    if start + length > size:
        raise _NotPlainError
    return start, start + length
