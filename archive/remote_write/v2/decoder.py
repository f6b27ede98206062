"""Decodes remote write 2.0, where labels are references into the symbol table of the request.

The cache gives symbols ids of its own, so that it finds a series by the ids of its labels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from archive.remote_write.messages import pairs_of, read_metadata_by_symbols
from archive.remote_write.metadata_cache import MetadataCache
from archive.remote_write.request_accumulator import RequestAccumulator
from archive.remote_write.result import REFUSED, Rows, SeriesMessage
from archive.remote_write.v2.plain_rows import PlainRows, plain_rows
from archive.remote_write.v2.request import Request, read_request
from archive.remote_write.v2.series import read_series
from archive.remote_write.v2.series_cache import NOT_FOUND, SeriesCache
from archive.series.labels import RefusedError

Slots = NDArray[np.int64]


class DecoderV2:
    def __init__(self) -> None:
        self.cache = SeriesCache()
        self.metadata = MetadataCache()

    def decode(self, memory: bytearray, size: int, accumulator: RequestAccumulator) -> None:
        """Fills the accumulator. After a MalformedError discard it."""
        self.cache.evict(accumulator.limits.live_series, accumulator.now)
        request = read_request(memory, size, accumulator)
        rows = plain_rows(memory, request.starts, request.stops)
        messages = _read_others(memory, request, rows, accumulator)
        accumulator.count(len(rows.which))
        slots = self._slots(request, rows, accumulator)
        self._take_metadata(memory, request, rows, slots, accumulator)
        series = np.where(slots == NOT_FOUND, REFUSED, self.cache.ids[slots])
        refused = bool((series == REFUSED).any())
        accumulator.add_rows(Rows(series, rows.times, rows.bits, rows.starts), refused=refused)
        for message in messages:
            self._take(message, accumulator)

    def _slots(self, request: Request, rows: PlainRows, accumulator: RequestAccumulator) -> Slots:
        """The cache slot of each row; a new series gets one."""
        slots, numbers = self.cache.find(rows, request.symbols)
        ends = np.cumsum(rows.counts)
        for row in np.flatnonzero(slots == NOT_FOUND).tolist():
            references = rows.references[ends[row] - rows.counts[row] : ends[row]]
            labels = []
            try:
                labels = pairs_of(
                    references[: 2 * accumulator.limits.labels + 2].tolist(), request.texts
                )
                series = accumulator.identify(labels)
            except RefusedError as error:
                accumulator.refuse(str(error), labels)
                continue
            slots[row] = self.cache.learn(references, request.symbols, numbers, series)
        return slots

    def _take(self, message: SeriesMessage, accumulator: RequestAccumulator) -> None:
        series = accumulator.take(message)
        if series == REFUSED or message.metadata is None:
            return
        if self.metadata.is_new(series, message.metadata.data, accumulator.now):
            accumulator.add_metadata(series, message.metadata.data)

    def _take_metadata(
        self,
        memory: bytearray,
        request: Request,
        rows: PlainRows,
        slots: Slots,
        accumulator: RequestAccumulator,
    ) -> None:
        """Reads each distinct metadata once, since most series share theirs."""
        _, first, which = np.unique(rows.metadata, return_index=True, return_inverse=True)
        kinds = [_read_metadata(memory, request, rows, place) for place in first.tolist()]
        taken = slots != NOT_FOUND
        for kind in [place for place, stored_metadata in enumerate(kinds) if stored_metadata.fault]:
            refused = self.cache.ids[slots[taken & (which == kind)]]
            if len(refused):
                accumulator.refuse_known(kinds[kind].fault, int(refused[0]), len(refused))
        numbers = np.array(
            [self.cache.metadata_number(stored_metadata.data) for stored_metadata in kinds],
            np.int64,
        )
        of_rows = numbers[which]
        news = np.flatnonzero(
            taken & (of_rows != self.cache.stored_metadata[slots]) & (of_rows > 0)
        )
        for row in news.tolist():
            accumulator.add_metadata(int(self.cache.ids[slots[row]]), kinds[which[row]].data)
        self.cache.stored_metadata[slots[news]] = of_rows[news]


def _read_others(
    memory: bytearray, request: Request, rows: PlainRows, accumulator: RequestAccumulator
) -> list[SeriesMessage]:
    """The series without the plain form."""
    others = np.ones(len(request.starts), np.bool_)
    others[rows.which] = False
    return [
        read_series(
            memory,
            int(request.starts[which]),
            int(request.stops[which]),
            request.texts,
            accumulator,
        )
        for which in np.flatnonzero(others).tolist()
    ]


class _MetadataResult(NamedTuple):
    data: bytes = b""
    fault: str = ""


def _read_metadata(
    memory: bytearray, request: Request, rows: PlainRows, row: int
) -> _MetadataResult:
    if not rows.metadata[row]:
        return _MetadataResult()
    start, stop = int(rows.metadata_places[row]), int(rows.stops[row])
    try:
        stored_metadata = read_metadata_by_symbols(memory, start, stop, request.texts)
    except RefusedError as error:
        return _MetadataResult(fault=str(error))
    return _MetadataResult(stored_metadata.data) if stored_metadata else _MetadataResult()
