"""Remote write 2.0: series are references into a table of symbols, which each request has anew.

The symbols get numbers of ours, so that a series is known again by the numbers of its labels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from archive.remote_write.messages import pairs_of, read_metadata_by_symbols
from archive.remote_write.metadata_cache import MetadataMemory
from archive.remote_write.request_accumulator import Intake
from archive.remote_write.result import REFUSED, Rows, SeriesMessage
from archive.remote_write.v2.plain_rows import PlainRows, plain_rows
from archive.remote_write.v2.request import Request, read_request
from archive.remote_write.v2.series import read_series
from archive.remote_write.v2.series_cache import NOT_FOUND, KnownSeries
from archive.series.labels import RefusedError

Slots = NDArray[np.int64]


class DecoderV2:
    def __init__(self) -> None:
        self.known = KnownSeries()
        self.metadata = MetadataMemory()

    def decode(self, memory: bytearray, size: int, intake: Intake) -> None:
        """Fills the intake; raises MalformedError, and then nothing of the request counts."""
        self.known.make_room(intake.limits.live_series, intake.now)
        request = read_request(memory, size, intake)
        rows = plain_rows(memory, request.starts, request.stops)
        messages = _read_others(memory, request, rows, intake)
        intake.count(len(rows.which))
        slots = self._slots(request, rows, intake)
        self._take_metadata(memory, request, rows, slots, intake)
        series = np.where(slots == NOT_FOUND, REFUSED, self.known.ids[slots])
        refused = bool((series == REFUSED).any())
        intake.add_rows(Rows(series, rows.times, rows.bits, rows.starts), refused=refused)
        for message in messages:
            self._take(message, intake)

    def _slots(self, request: Request, rows: PlainRows, intake: Intake) -> Slots:
        """The slot of each row; a series that is seen for the first time gets one."""
        slots, numbers = self.known.find(rows, request.symbols)
        ends = np.cumsum(rows.counts)
        for row in np.flatnonzero(slots == NOT_FOUND).tolist():
            references = rows.references[ends[row] - rows.counts[row] : ends[row]]
            labels = []
            try:
                labels = pairs_of(
                    references[: 2 * intake.limits.labels + 2].tolist(), request.texts
                )
                series = intake.identify(labels)
            except RefusedError as error:
                intake.refuse(str(error), labels)
                continue
            slots[row] = self.known.learn(references, request.symbols, numbers, series)
        return slots

    def _take(self, message: SeriesMessage, intake: Intake) -> None:
        series = intake.take(message)
        if series == REFUSED or message.metadata is None:
            return
        if self.metadata.is_news(series, message.metadata.data, intake.now):
            intake.add_metadata(series, message.metadata.data)

    def _take_metadata(
        self, memory: bytearray, request: Request, rows: PlainRows, slots: Slots, intake: Intake
    ) -> None:
        """Most series share theirs with many others, so each kind of it is read only once."""
        _, first, which = np.unique(rows.metadata, return_index=True, return_inverse=True)
        kinds = [_read_metadata(memory, request, rows, place) for place in first.tolist()]
        taken = slots != NOT_FOUND
        for kind in [place for place, told in enumerate(kinds) if told.fault]:
            refused = self.known.ids[slots[taken & (which == kind)]]
            if len(refused):
                intake.refuse_known(kinds[kind].fault, int(refused[0]), len(refused))
        numbers = np.array([self.known.metadata_number(told.data) for told in kinds], np.int64)
        of_rows = numbers[which]
        news = np.flatnonzero(taken & (of_rows != self.known.told[slots]) & (of_rows > 0))
        for row in news.tolist():
            intake.add_metadata(int(self.known.ids[slots[row]]), kinds[which[row]].data)
        self.known.told[slots[news]] = of_rows[news]


def _read_others(
    memory: bytearray, request: Request, rows: PlainRows, intake: Intake
) -> list[SeriesMessage]:
    """The series that are not plain."""
    others = np.ones(len(request.starts), np.bool_)
    others[rows.which] = False
    return [
        read_series(
            memory, int(request.starts[which]), int(request.stops[which]), request.texts, intake
        )
        for which in np.flatnonzero(others).tolist()
    ]


class _Told(NamedTuple):
    data: bytes = b""
    fault: str = ""


def _read_metadata(memory: bytearray, request: Request, rows: PlainRows, row: int) -> _Told:
    if not rows.metadata[row]:
        return _Told()
    start, stop = int(rows.metadata_places[row]), int(rows.stops[row])
    try:
        told = read_metadata_by_symbols(memory, start, stop, request.texts)
    except RefusedError as error:
        return _Told(fault=str(error))
    return _Told(told.data) if told else _Told()
