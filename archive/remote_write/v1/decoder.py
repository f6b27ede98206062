"""Decodes remote write 1.0. Predicts the series of a request from earlier requests.

Series that were not predicted, and messages that are not plain samples, are read field by field.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from archive.batch import NO_SERIES
from archive.remote_write.messages import Metadata
from archive.remote_write.metadata_cache import MetadataCache
from archive.remote_write.protobuf import MalformedError
from archive.remote_write.request_accumulator import RequestAccumulator
from archive.remote_write.result import Rows, SeriesMessage, concatenated
from archive.remote_write.v1.connection_cursor import ConnectionCursor
from archive.remote_write.v1.label_cache import VALUED, ZERO, LabelCache, Slot, are_headers
from archive.remote_write.v1.label_identity import LabelIdentities
from archive.remote_write.v1.request_walk import (
    NotPlainError,
    RequestWalker,
    Walk,
    is_out_of_order,
)
from archive.remote_write.v1.series import read_message, read_messages
from archive.remote_write.v1.span_cache import TIME_TAG, CachedSpan, span_series
from archive.remote_write.varint_vector import WORD, Places, Words, end_in_time, times_in, words_of
from archive.series.labels import RefusedError

# The first three bytes of a sample: tag, length, tag of its first field.
_START: Final = np.uint64(0xFFFFFF)
_VALUED_START: Final = np.uint64(0x09_10_12)
_ZERO_START: Final = np.uint64(0x10_07_12)


_NOT_PLAIN: Final = (NotPlainError, RefusedError, MalformedError, IndexError)


class DecoderV1:
    def __init__(self, identities: LabelIdentities) -> None:
        self.table = LabelCache()
        self.metadata = MetadataCache()
        self._identities = identities

    def forget_series(self) -> None:
        """Drops what refers to the series table by other numbers than series ids."""
        self._identities.forget()

    def decode(
        self,
        memory: bytearray,
        size: int,
        accumulator: RequestAccumulator,
        cursor: ConnectionCursor,
    ) -> None:
        """Fills the accumulator. After a MalformedError discard it."""
        walk, cursor.plain = Walk(), False
        try:
            RequestWalker(memory, self.table, self._identities, walk).add(0, size, cursor)
            messages = self._take_rows(memory, walk, accumulator)
        except _NOT_PLAIN:
            accumulator.restart()
            messages = read_messages(memory, size, accumulator)
        else:
            cursor.plain = not walk.others and not accumulator.refusals
        finally:
            self._discard_unidentified(walk)
        for message in messages:
            self._take(message, accumulator)

    def decode_plain(
        self,
        memory: bytearray,
        ends: Sequence[int],
        cursors: Sequence[ConnectionCursor],
        accumulator: RequestAccumulator,
    ) -> bool:
        """Decodes adjacent requests as one when they have only plain samples.

        After False discard the accumulator.
        """
        walk = Walk()
        walker = RequestWalker(memory, self.table, self._identities, walk)
        try:
            for begin, end, cursor in zip([0, *ends], ends, cursors, strict=False):
                walker.add(begin, end, cursor)
            return not walk.others and not self._take_rows(memory, walk, accumulator)
        except _NOT_PLAIN:
            return False
        finally:
            self._discard_unidentified(walk)

    def _take_rows(
        self, memory: bytearray, walk: Walk, accumulator: RequestAccumulator
    ) -> list[SeriesMessage | Metadata]:
        """Adds the plain rows; returns the other messages."""
        rows = self._rows(memory, walk)
        others = self._read_others(memory, walk, accumulator)
        refused = self._settle(memory, walk, rows, accumulator)
        accumulator.add_rows(rows, refused=refused)
        return others

    def _discard_unidentified(self, walk: Walk) -> None:
        """They would match the next request, and have no series id."""
        for slot in walk.new:
            self.table.discard(slot)

    def _rows(self, memory: bytearray, walk: Walk) -> Rows:
        """All plain rows, in request order."""
        matched = [Rows(each.indices, each.times, each.bits) for _, each in walk.matches]
        if not walk.singles:
            return matched[0] if len(matched) == 1 else concatenated(matched)
        rows = Rows(
            np.empty(walk.rows, np.int64),
            np.empty(walk.rows, np.int64),
            np.empty(walk.rows, np.uint64),
        )
        for (first, _), match in zip(walk.matches, matched, strict=True):
            rows.put(slice(first, first + len(match.series)), match)
        rows.put(walk.single_rows, self._verified(words_of(memory), walk))
        return rows

    def _verified(self, words: Words, walk: Walk) -> Rows:
        """The single rows, after a check of their bytes. Raises NotPlainError."""
        slots = walk.singles
        index = np.array([slot.index for slot in slots], np.int64)
        headers = np.array([slot.header for slot in slots], np.int64)
        prefixes = np.array([slot.prefix_size for slot in slots], np.int64)
        place = np.array(walk.single_places, np.int64)
        begin = words[place] & _START
        valued = begin == _VALUED_START
        sizes = np.where(valued, VALUED, ZERO)
        walk.begins, walk.ends = place - prefixes, place + sizes
        endings = words[place + sizes - WORD]
        right = are_headers(words[walk.begins], headers, prefixes - headers + sizes)
        right &= valued | (begin == _ZERO_START)
        right &= end_in_time(endings, TIME_TAG)
        if not right.all():
            raise NotPlainError
        return Rows(index, times_in(endings), np.where(valued, words[place + 3], np.uint64(0)))

    def _read_others(
        self, memory: bytearray, walk: Walk, accumulator: RequestAccumulator
    ) -> list[SeriesMessage | Metadata]:
        accumulator.count(walk.rows)
        accumulator.count_series(walk.rows + len(walk.others))
        read = [read_message(memory, *other, accumulator) for other in walk.others]
        return [message for message in read if message is not None]

    def _settle(
        self, memory: bytearray, walk: Walk, rows: Rows, accumulator: RequestAccumulator
    ) -> bool:
        """Assigns series ids to new label sets and to the rows.

        True when series are refused.
        """
        index, table = rows.series, self.table
        refused = self._identify(walk, accumulator, index) if walk.new else []
        rows.series = table.ids[index]  # before the spans change: it may be their column
        # A series may arrive with labels in several orders.
        is_full = len(table) > 2 * accumulator.limits.live_series
        for slot in walk.new if is_full else refused:
            table.discard(slot)
        walk.new = []
        if is_out_of_order(walk, len(refused)):
            _remember_order(walk, memory)
        return bool(refused)

    def _identify(self, walk: Walk, accumulator: RequestAccumulator, index: Places) -> list[Slot]:
        """Sets the ids of new slots; returns those that are refused."""
        ids, reasons = self._identities.identify_all(walk.labels, accumulator.now)
        self.table.assign(walk.new, ids)
        for at, reason in reasons.items():
            labels = self._identities.labels.read(walk.new[at].raw, accumulator.limits.labels)
            accumulator.refuse(reason, labels, int(np.count_nonzero(index == walk.new[at].index)))
        return [walk.new[at] for at in reasons]

    def _take(self, message: SeriesMessage | Metadata, accumulator: RequestAccumulator) -> None:
        if isinstance(message, SeriesMessage):
            accumulator.take(message)
        elif self.metadata.is_new(message.family, message.data, accumulator.now):
            accumulator.add_metadata(NO_SERIES, message.data)


def _remember_order(walk: Walk, memory: bytearray) -> None:
    """Stores each request as a span, or appends it to the last one, since request bounds are arbitrary.

    A duplicate series has one row in it, a refused series none.
    """
    rows: list[tuple[Slot, bytes | bytearray]] = []
    for cursor, first, end in walk.requests:
        series = walk.adjacent(memory, first, end)
        if series is None:
            rows = rows or walk.series(memory)
            series = span_series({slot: each for slot, each in rows[first:end] if slot.kept})
        if series.slots and not cursor.growing.continued(series):
            cursor.growing = CachedSpan(series)
