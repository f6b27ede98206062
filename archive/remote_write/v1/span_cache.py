"""Spans of series in the order in which they arrived: predicts a part of a request and verifies it.

Senders repeat most series in the same order.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from archive.remote_write.v1.label_cache import SERIES_TAG, VALUED, ZERO, Slot
from archive.remote_write.v1.wire_template import template_of
from archive.remote_write.varint_vector import (
    WORD,
    Places,
    Words,
    end_in_time,
    ends_in_time,
    time_in,
    times_in,
    words_of,
)

TIME_TAG: Final = 0x10
_LONGEST: Final = 2_048  # slots: a changed length moves everything behind it
# Spare bytes for samples that get a value: a growing bytearray over-allocates by an eighth.
_SPARE: Final = 64
_GONE: Final = -1  # the index of a removed slot
_MAX_JUMPS: Final = 16
_PLACES: Final = ("_ends", "_values", "_times")
# Offsets from the end of a sample back to the word of its value and to the word of its time: tag,
# time, tag of the next series. Without a value both are the word of the time.
_BACK_TO_VALUE: Final = VALUED - 3
_BACK_TO_TIME: Final = WORD - 1
_TIME: Final = (1 << 8 * _BACK_TO_TIME) - 1
_NEXT: Final = SERIES_TAG << 8 * _BACK_TO_TIME
_TIMES: Final = np.uint64(_TIME)
_NEXTS: Final = np.uint64(_NEXT)
_OCTET: Final = np.uint64(8)
_ALL: Final = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
_NOTHING: Final = np.uint64(0)


class SpanSeries(NamedTuple):
    """Slots with their series as in a request; values and times do not matter."""

    slots: list[Slot]
    lengths: Places
    data: bytes | bytearray
    """All of them, without a gap."""


def span_series(given: Mapping[Slot, bytes | bytearray]) -> SpanSeries:
    lengths = np.array(list(map(len, given.values())), np.int64)
    return SpanSeries(list(given), lengths, b"".join(given.values()))


NO_SERIES: Final = SpanSeries([], np.empty(0, np.int64), b"")


class SpanMatch(NamedTuple):
    """Consecutive series of a request, verified as those of the span with a plain sample each."""

    indices: Places
    times: NDArray[np.int64]
    bits: Words
    end: int  # where the next series begins


class CachedSpan:
    """Slots in the order of a request. A slot is in at most one span, so that it can be evicted."""

    def __init__(self, series: SpanSeries = NO_SERIES) -> None:
        self.slots: list[Slot] = []
        self._live_slots = 0
        # The bytes of a request with exactly this span; the only copy of the labels. It ends with
        # the first byte of a next series.
        self._template = bytearray((SERIES_TAG,))
        self._index: Places = np.empty(0, np.int64)
        self._ends: Places = np.empty(0, np.int64)
        self._values: Places = np.empty(0, np.int64)  # positions of the value words
        self._times: Places = np.empty(0, np.int64)
        self._masks: Words = np.empty(
            0, np.uint64
        )  # of the value words: all ones, or zero without a value
        self._words: Words | None = None  # of the template, until its size changes
        self._jumps: dict[int, tuple[weakref.ref[CachedSpan], int]] = {}
        self._append(series)

    def continued(self, series: SpanSeries) -> bool:
        """Appends slots that followed, if they have no span and this one lost no slot."""
        if self._live_slots < len(self.slots) or len(self.slots) + len(series.slots) > _LONGEST:
            return False
        if any(slot.span is not None for slot in series.slots):
            return False
        self._append(series)
        return True

    def _append(self, series: SpanSeries) -> None:
        first, slots, built = len(self.slots), series.slots, series.data
        index = np.array([slot.index for slot in slots], np.int64)
        self._index = np.concatenate([self._index, index])
        for name in (*_PLACES, "_masks"):
            column = getattr(self, name)
            setattr(self, name, np.concatenate([column, np.zeros(len(slots), column.dtype)]))
        for slot in slots:
            if slot.span is not None:
                slot.span.drop(slot)
        self.slots += slots
        self._set_rows(first, series.lengths)
        spare = bytes(1 + len(built) // _SPARE)
        self._words = None
        self._template = bytearray().join((self._template[:-1], built, spare))
        del self._template[self._begin(first + len(slots)) :]  # keeps the allocation
        self._template.append(SERIES_TAG)
        for row, slot in enumerate(slots, first):
            slot.own_raw, slot.span, slot.row = b"", self, row
        self._live_slots += len(slots)

    def _set_rows(self, row: int, lengths: Places) -> None:
        """Sets the columns of the slots from `row` on by the lengths of their templates."""
        rows = slice(row, row + len(lengths))
        prefixes = np.array([slot.prefix_size for slot in self.slots[rows]], np.int64)
        valued = lengths - prefixes == VALUED
        ends = lengths.cumsum() + self._begin(row)
        self._ends[rows], self._times[rows] = ends, ends - _BACK_TO_TIME
        self._values[rows] = ends - np.where(valued, _BACK_TO_VALUE, _BACK_TO_TIME)
        self._masks[rows] = np.where(valued, _ALL, _NOTHING)

    def __len__(self) -> int:
        return len(self.slots)

    def raw(self, row: int) -> bytes:
        """The labels of the slot in this row."""
        slot, end = self.slots[row], int(self._ends[row]) - self._size(row)
        return bytes(self._template[end - slot.prefix_size + slot.header : end])

    def rows(self, first: int, end: int) -> Iterator[tuple[Slot, bytes]]:
        """Slots with their labels, up to the first removed slot."""
        for row in range(first, min(end, len(self.slots))):
            if self.slots[row].span is not self:
                return
            yield self.slots[row], self.raw(row)

    def series(self, first: int, end: int) -> Iterator[tuple[Slot, bytes]]:
        """Slots with their templates."""
        for row in range(first, end):
            yield self.slots[row], template_of(self.slots[row], self._size(row))

    def matches_at(self, memory: bytearray, at: int, row: int) -> bool:
        """Whether the series at this position has the labels of this row."""
        slot = self.slots[row]
        return slot.span is self and memory.startswith(self.raw(row), at + slot.header)

    def follow(self, memory: bytearray, words: Words, at: int, stop: int, row: int) -> SpanMatch:
        """The longest match of the span from `row` on with the memory from `at` to `stop`.

        Copies values and times into the template, then compares all bytes at once.
        """
        shift = at - self._begin(row)
        end = row + int(self._ends[row:].searchsorted(stop - shift, "right"))
        if self._live_slots < len(self.slots):
            end = self._unbroken(row, end)
        if row == end:
            return SpanMatch(self._index[:0], self._index[:0], self._masks[:0], at)
        if self._words is None:
            self._words = words_of(self._template)
        values, times = self._values[row:end], self._times[row:end]
        bits = words[values + shift]
        self._words[values] = bits
        found = self._at_one_time(memory, words, self._words, times, shift, row)
        if found is None:
            found = self._at_any_time(memory, words, self._words, times, shift, row)
        end = row + len(found)
        bits = bits[: end - row] & self._masks[row:end]
        return SpanMatch(self._index[row:end], found, bits, self._begin(end) + shift)

    def _at_one_time(
        self, memory: bytearray, words: Words, template: Words, times: Places, shift: int, row: int
    ) -> NDArray[np.int64] | None:
        """The times of a match where all samples have one time; None when they differ.

        This is the common case: all samples of a scrape have its time.
        """
        first = int(words[int(times[0]) + shift]) & _TIME
        time = _time(first)
        if time is None or _is_another(first, int(words[int(times[-1]) + shift])):
            return None
        template[times] = first | _NEXT
        count = self._matching_rows(memory, shift, row, row + len(times))
        if count < len(times) and _is_another(first, int(words[int(times[count]) + shift])):
            return None
        found = np.empty(count, np.int64)
        found.fill(time)
        return found

    def _at_any_time(
        self, memory: bytearray, words: Words, template: Words, times: Places, shift: int, row: int
    ) -> NDArray[np.int64]:
        """The times of a match where the times differ."""
        endings = words[times + shift]
        template[times] = endings & _TIMES | _NEXTS
        endings <<= _OCTET
        timed = end_in_time(endings, TIME_TAG)
        count = self._matching_rows(memory, shift, row, row + len(times))
        if not timed.all():
            count = min(count, int(timed.argmin()))
        return times_in(endings[:count])

    def resized(self, memory: bytearray, at: int, stop: int, row: int) -> bool:
        """Whether the series here is that of this row with another sample size.

        Changes the template to that size; the match is still to be verified.
        """
        place = at + self.slots[row].prefix_size
        if place + ZERO > stop:
            return False
        size = memory[place + 1] + 2  # plus its tag and length
        if size not in (VALUED, ZERO) or size == self._size(row):
            return False
        return self.matches_at(memory, at, row) and self._resize(row, size)

    def _resize(self, row: int, size: int) -> bool:
        """`learn_sizes` for one row; False when its header cannot encode the size."""
        template = template_of(self.slots[row], size)
        begin, end = self._begin(row), int(self._ends[row])
        if len(template) - self.slots[row].prefix_size != size:
            return False
        self._words = None
        self._template[begin:end] = template
        self._move(row, begin + len(template) - end)
        valued = size == VALUED
        self._values[row] = self._ends[row] - (_BACK_TO_VALUE if valued else _BACK_TO_TIME)
        self._masks[row] = _ALL if valued else _NOTHING
        return True

    def _move(self, row: int, by: int) -> None:
        for name in _PLACES:
            getattr(self, name)[row:] += by

    def learn_sizes(self, row: int, sizes: Sequence[int]) -> None:
        """Sets the sample sizes from this row on, and moves the rows behind them."""
        end = row + len(sizes)
        if all(self._size(row + place) == size for place, size in enumerate(sizes)):
            return
        begin, stop = self._begin(row), int(self._ends[end - 1])
        slots = self.slots[row:end]
        templates = list(map(template_of, slots, sizes))
        template = b"".join(templates)
        self._set_rows(row, np.array(list(map(len, templates)), np.int64))
        self._words = None
        self._template[begin:stop] = template
        self._move(end, begin + len(template) - stop)

    def next_from(self, row: int) -> tuple[CachedSpan, int] | None:
        """The span and row that followed the last time this span ended before `row`."""
        jump = self._jumps.get(row)
        span = jump[0]() if jump else None
        return (span, jump[1]) if jump and span is not None and jump[1] < len(span) else None

    def learn_next(self, row: int, span: CachedSpan, there: int) -> None:
        if len(self._jumps) < _MAX_JUMPS or row in self._jumps:
            self._jumps[row] = (weakref.ref(span), there)

    def forget_next(self, row: int) -> None:
        self._jumps.pop(row, None)

    def drop(self, slot: Slot) -> None:
        """Removes the slot. A span that lost half of its slots releases all of them."""
        self._release(slot)
        if 2 * self._live_slots < len(self.slots):
            for each in self.slots:
                if each.span is self:
                    self._release(each)

    def _release(self, slot: Slot) -> None:
        slot.leave()
        self._index[slot.row] = _GONE
        self._live_slots -= 1

    def _begin(self, row: int) -> int:
        return int(self._ends[row - 1]) if row else 0

    def _size(self, row: int) -> int:
        return VALUED if self._masks[row] else ZERO

    def _unbroken(self, row: int, end: int) -> int:
        """The first removed slot before `end`, or `end`."""
        gone = (self._index[row:end] == _GONE).nonzero()[0]
        return row + int(gone[0]) if len(gone) else end

    def _matching_rows(self, memory: bytearray, shift: int, row: int, end: int) -> int:
        """How many series from `row` on equal the bytes in memory."""
        begin, stop = self._begin(row), self._begin(end)
        if memory.startswith(memoryview(self._template)[begin:stop], begin + shift):
            return end - row
        here = np.frombuffer(memory, np.uint8, stop - begin, begin + shift)
        there = np.frombuffer(self._template, np.uint8, stop - begin, begin)
        differs = begin + int((here != there).argmax())
        return int(self._ends.searchsorted(differs, "right")) - row


@lru_cache(maxsize=64)  # most samples of a request have the same time
def _time(word: int) -> int | None:
    """The time in the first seven bytes of a word, a tag and a varint; None for other bytes."""
    ending = word << 8
    return time_in(ending) if ends_in_time(ending, TIME_TAG) else None


def _is_another(first: int, word: int) -> bool:
    """Whether `word` holds a time that differs from the first one."""
    time = word & _TIME
    return time != first and _time(time) is not None
