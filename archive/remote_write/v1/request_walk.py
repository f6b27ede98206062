"""Walks the series of a 1.0 request: cached spans first, single lookups for the rest.

A lookup does not verify the sample behind the labels: the caller must check single rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from archive.remote_write.protobuf import read_varint
from archive.remote_write.v1.connection_cursor import ConnectionCursor
from archive.remote_write.v1.label_cache import (
    MAX_HEADER,
    SERIES_TAG,
    VALUED,
    ZERO,
    LabelCache,
    Slot,
)
from archive.remote_write.v1.label_identity import LabelIdentities, Unidentified
from archive.remote_write.v1.span_cache import CachedSpan, SpanMatch, SpanSeries
from archive.remote_write.varint_vector import Places, words_of
from streamgauge.protobuf import LENGTH

# Bytes of a plain sample by the value of its length field.
_SIZES: Final = {VALUED - 2: VALUED, ZERO - 2: ZERO}
# A span match costs as much as this many single steps. After a shorter match take single steps.
_SHORT_MATCH: Final = 24
# With more than one series in this many out of order, store the new order.
_ORDERED: Final = 32
_FEW_LOOKUPS: Final = 2  # at the start of a request, and between two spans


class NotPlainError(Exception):
    """The request needs the field-by-field reader; nothing of it was added."""


@dataclass(slots=True)
class Walk:
    """A walked request: plain rows in order, and the messages to read field by field."""

    new: list[Slot] = field(default_factory=list)
    labels: list[Unidentified] = field(default_factory=list)  # of the new slots
    others: list[tuple[int, int, int]] = field(default_factory=list)  # number, start, stop
    rows: int = 0
    lookups: int = 0  # series outside every span
    requests: list[tuple[ConnectionCursor, int, int]] = field(
        default_factory=list
    )  # first row, end row
    matches: list[tuple[int, SpanMatch]] = field(default_factory=list)  # with their first row
    # Single rows, not verified yet: row, slot, position of the sample.
    single_rows: list[int] = field(default_factory=list)
    singles: list[Slot] = field(default_factory=list)
    single_places: list[int] = field(default_factory=list)
    # Of the single rows, once they are verified.
    begins: Places = field(default_factory=lambda: np.empty(0, np.int64))
    ends: Places = field(default_factory=lambda: np.empty(0, np.int64))
    _spans: list[tuple[CachedSpan, int]] = field(
        default_factory=list
    )  # with the row in it, for each match

    def add(self, slot: Slot, place: int) -> None:
        self.single_rows.append(self.rows)
        self.singles.append(slot)
        self.single_places.append(place)
        self.rows += 1

    def add_match(self, match: SpanMatch, span: CachedSpan, first: int) -> None:
        self.matches.append((self.rows, match))
        self._spans.append((span, first))
        self.rows += len(match.indices)

    def series(self, memory: bytearray) -> list[tuple[Slot, bytes | bytearray]]:
        """The slot of each row and bytes of its series. Slow, so not for every request."""
        singles: list[tuple[Slot, bytes | bytearray]] = [
            (slot, memory[place - slot.prefix_size : place + memory[place + 1] + 2])
            for slot, place in zip(self.singles, self.single_places, strict=True)
        ]
        found = dict(zip(self.single_rows, singles, strict=True))
        for (row, match), (span, first) in zip(self.matches, self._spans, strict=True):
            found |= enumerate(span.series(first, first + len(match.indices)), row)
        return [found[row] for row in range(self.rows)]

    def adjacent(self, memory: bytearray, first: int, end: int) -> SpanSeries | None:
        """These rows, if all are single, different and adjacent, as in a request of new series."""
        slots, begins, ends = self.singles[first:end], self.begins[first:end], self.ends[first:end]
        if self.matches or not slots or (begins[1:] != ends[:-1]).any():
            return None
        if len(set(slots)) < len(slots) or False in [slot.kept for slot in slots]:
            return None
        return SpanSeries(slots, ends - begins, memory[begins[0] : ends[-1]])


def is_out_of_order(walk: Walk, refused: int) -> bool:
    """Whether storing the order of this request would speed up the next one like it."""
    return walk.lookups - refused > _FEW_LOOKUPS * len(walk.requests) + walk.rows // _ORDERED


class RequestWalker:
    """The position in a request: byte `at`, where `row` of the span is expected."""

    def __init__(
        self, memory: bytearray, table: LabelCache, identities: LabelIdentities, walk: Walk
    ) -> None:
        self._memory, self._words, self._walk = memory, words_of(memory), walk
        self._table, self._identities = table, identities

    def add(self, begin: int, end: int, cursor: ConnectionCursor) -> None:
        """Adds a request. Raises NotPlainError, MalformedError or IndexError for other requests."""
        self.at, self._size, first = begin, end, self._walk.rows
        self.span, self.row = cursor.span, cursor.row
        self._single_steps, self._next_single_steps = 0, _SHORT_MATCH
        self._unverified = True  # a check of the labels costs less than a failed match
        # The start of a jump without a match yet.
        self._jumped_from: tuple[CachedSpan, int] | None = None
        while self.at < end:
            if self.row < len(self.span) and (self._follow() or self.at >= end):
                continue
            if not self._jump():
                self._look_up()
        if self.at != end:
            raise NotPlainError
        cursor.span, cursor.row = self.span, self.row
        self._walk.requests.append((cursor, first, self._walk.rows))

    def _follow(self) -> bool:
        """Adds the rows that the span predicts. True when it may predict more."""
        begin = self.row
        more = self._one_by_one(self._single_steps) if self._single_steps else self._follow_span()
        if more or self.row > begin:
            self._jumped_from = None
        return more

    def _follow_span(self) -> bool:
        span, begin = self.span, self.row
        if self._unverified and not span.matches_at(self._memory, self.at, begin):
            return False
        match = span.follow(self._memory, self._words, self.at, self._size, begin)
        count = len(match.indices)
        self._unverified = not count
        if count:
            self._walk.add_match(match, span, begin)
            self.at, self.row = match.end, begin + count
        if self.at >= self._size or self.row >= len(span):
            return False
        resized = span.resized(self._memory, self.at, self._size, self.row)
        if count >= _SHORT_MATCH:
            self._next_single_steps = _SHORT_MATCH
        elif count or resized:
            self._single_steps, self._next_single_steps = (
                self._next_single_steps,
                2 * self._next_single_steps,
            )
        return resized

    def _one_by_one(self, limit: int) -> bool:
        """Steps row by row, for series whose values often change from or to zero."""
        memory, size, at, begin = self._memory, self._size, self.at, self.row
        sizes: list[int] = []
        for slot, raw in self.span.rows(begin, begin + limit):
            if at >= size or not memory.startswith(raw, at + slot.header):
                break
            place = at + slot.prefix_size
            length = _SIZES.get(memory[place + 1])
            if length is None:
                break
            at = place + length
            self._walk.add(slot, place)
            sizes.append(length)
        self.span.learn_sizes(begin, sizes)
        self.at, self.row, self._single_steps = at, begin + len(sizes), 0
        return bool(sizes)

    def _jump(self) -> bool:
        """Jumps to the span that followed here last time, unless it was tried already."""
        following = self.span.next_from(self.row) if self._jumped_from is None else None
        if following is None:
            return False
        self._jumped_from = self.span, self.row
        self.span, self.row = following
        self._unverified = True
        return True

    def _look_up(self) -> None:
        """Finds series by their labels, up to the first one that a span may continue."""
        if self._jumped_from is not None:
            (self.span, self.row), self._jumped_from = self._jumped_from, None
            self.span.forget_next(self.row)
        at, size, ended = self.at, self._size, self.row >= len(self.span)
        memory, walk, table, identities = self._memory, self._walk, self._table, self._identities
        while at < size:
            start, end = _content(memory, at, size)
            content, header = bytes(memory[start:end]), start - at
            is_series = memory[at] == SERIES_TAG and header <= MAX_HEADER
            length, others = identities.find(content) if is_series else (0, None)
            place = start + length
            if length and _SIZES.get(memory[place + 1]) == end - place:
                raw = content[:length]
                slot, is_new = table.get_or_add(raw, header)
                if is_new:
                    walk.new.append(slot)
                    walk.labels.append(identities.read(raw, others))
                elif slot.span is not None and not self._is_next(slot, slot.span):
                    break
                walk.add(slot, place)
                walk.lookups += 1
            else:
                walk.others.append((memory[at] >> 3, start, end))
            at = end
            if not ended:
                break
        self.at = at

    def _is_next(self, slot: Slot, span: CachedSpan) -> bool:
        """Whether the span here has just failed to match this slot; otherwise goes to its span."""
        if span is self.span and slot.row == self.row:
            self.row += 1
            return True
        self.span.learn_next(self.row, span, slot.row)
        self.span, self.row, self._unverified = span, slot.row, False
        return False


def _content(memory: bytearray, at: int, size: int) -> tuple[int, int]:
    """Start and end of a field's content. Raises NotPlainError for unusual fields."""
    tag, length, start = memory[at], memory[at + 1], at + 2
    if length >= 0x80:
        more, start = memory[start], start + 1
        length = length & 0x7F | more << 7
        if more >= 0x80:
            length, start = read_varint(memory, at + 1, size)
    if tag & 7 != LENGTH or not 0x08 <= tag < 0x80 or start + length > size:
        raise NotPlainError
    return start, start + length
