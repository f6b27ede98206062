"""Collects the samples of one request under the rules of both versions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from archive.batch import NO_SERIES, Batch, Opaque, OpaqueKind
from archive.remote_write.messages import Exemplar, Sample
from archive.remote_write.native_histogram import Histogram
from archive.remote_write.protobuf import MalformedError
from archive.remote_write.result import (
    REFUSED,
    Decoded,
    Refusals,
    Rows,
    SeriesMessage,
    Written,
    concatenated,
    rows_of,
)
from archive.series.labels import Label, LabelRules, RefusedError, shown
from archive.series.live import LiveSeries
from archive.settings.limits import Limits
from archive.tables.schema import LATEST_TIME

_FUTURE: Final = "a time too far in the future"
_NEGATIVE: Final = "a time before 1970"


class RequestAccumulator:
    """Collects one request. `now` and all times are in milliseconds."""

    def __init__(self, limits: Limits, rules: LabelRules, live: LiveSeries, now: int) -> None:
        self.limits = limits
        self.now = now
        self._rules = rules
        self._live = live
        # The archive has no day for later times, whatever the limit.
        self._latest = min(now + round(limits.future * 1000), LATEST_TIME)
        self.restart()

    def restart(self) -> None:
        """Discards everything collected so far."""
        self.refusals = Refusals()
        self._rows: list[Rows] = []
        self._single: list[tuple[int, Sample]] = []
        self._opaque: list[Opaque] = []
        self._newest = 0
        self._parts = 0
        self._series = 0

    def identify(self, labels: Sequence[Label]) -> int:
        """Raises RefusedError when the labels break a rule."""
        return self._live.identify(self._rules.identify(labels), self.now)

    def count(self, parts: int) -> None:
        """Called while reading, so that reading stops at a request over the limit."""
        self._parts += parts
        if self._parts > self.limits.samples:
            raise MalformedError(f"the request holds more than {self.limits.samples} samples")

    def count_series(self, series: int) -> None:
        self._series += series
        if self._series > self.limits.series:
            raise MalformedError(f"the request holds more than {self.limits.series} series")

    def refuse(self, reason: str, labels: Sequence[Label], count: int = 1) -> None:
        self.refusals.add(reason, count, lambda: shown(labels))

    def refuse_known(self, reason: str, series: int, count: int) -> None:
        """Of a series that already has an id."""
        self.refusals.add(reason, count, lambda: shown(self._live.labels_of(series)))

    def add_rows(self, rows: Rows, *, refused: bool) -> None:
        """Adds plain rows, whose times are not negative: a negative time is encoded in more bytes.

        `refused`: drop the rows of refused series; the caller has recorded the refusals.
        """
        newest = _newest(rows)
        if refused or newest > self._latest:
            rows = self._without_refused(rows)
            newest = _newest(rows)
        self._rows.append(rows)
        self._newest = max(self._newest, newest)

    def take(self, message: SeriesMessage) -> int:
        """Adds a series that was read field by field; returns its id, or REFUSED."""
        series = self._identify_whole(message)
        if series == REFUSED:
            return REFUSED
        for reason in message.refused:
            self.refuse(reason, message.labels)
        for sample in message.samples:
            if self._in_time(sample.time, message.labels):
                self._single.append((series, sample))
                self._newest = max(self._newest, sample.time)
        self._take_opaque(OpaqueKind.HISTOGRAM, series, message.histograms, message.labels)
        self._take_opaque(OpaqueKind.EXEMPLAR, series, message.exemplars, message.labels)
        return series

    def add_metadata(self, series: int, data: bytes) -> None:
        self._opaque.append(Opaque(OpaqueKind.METADATA, series, 0, data))

    def finish(self, sender: str) -> Decoded:
        rows = self._joined()
        self._live.mark(rows.series, self.now)
        others = [each.series for each in self._opaque if each.series != NO_SERIES]
        if others:
            self._live.mark(np.array(others, np.int64), self.now)
        kinds = [each.kind for each in self._opaque]
        written = Written(
            len(rows.series), kinds.count(OpaqueKind.HISTOGRAM), kinds.count(OpaqueKind.EXEMPLAR)
        )
        batch = Batch(
            sender=sender,
            received=self.now,
            series=rows.series.astype(np.uint32),
            times=rows.times,
            values=rows.bits,
            starts=rows.starts,
            opaque=tuple(self._opaque),
        )
        return Decoded(batch, written, self.refusals, self._newest)

    def _joined(self) -> Rows:
        if self._single:
            self._rows.append(rows_of(self._single))
        rows = self._rows[0] if len(self._rows) == 1 else concatenated(self._rows)
        if rows.starts is not None and not rows.starts.any():
            rows.starts = None
        return rows

    def _identify_whole(self, message: SeriesMessage) -> int:
        fault = message.fault
        if not fault:
            try:
                return self.identify(message.labels)
            except RefusedError as error:
                fault = str(error)
        self.refuse(fault, message.labels, max(message.parts, 1))
        return REFUSED

    def _take_opaque(
        self,
        kind: OpaqueKind,
        series: int,
        parts: Sequence[Histogram] | Sequence[Exemplar],
        labels: Sequence[Label],
    ) -> None:
        for part in parts:
            if self._in_time(part.time, labels):
                self._opaque.append(Opaque(kind, series, part.time, part.data))

    def _in_time(self, time: int, labels: Sequence[Label]) -> bool:
        if 0 <= time <= self._latest:
            return True
        self.refuse(_FUTURE if time > 0 else _NEGATIVE, labels)
        return False

    def _without_refused(self, rows: Rows) -> Rows:
        wrong = rows.times > self._latest
        for series in rows.series[wrong & (rows.series != REFUSED)].tolist():
            self.refuse_known(_FUTURE, series, 1)
        keep = (rows.series != REFUSED) & ~wrong
        starts = None if rows.starts is None else rows.starts[keep]
        return Rows(rows.series[keep], rows.times[keep], rows.bits[keep], starts)


def _newest(rows: Rows) -> int:
    """0 without rows. `reduce` has less overhead than `max`, which counts for small requests."""
    return int(np.maximum.reduce(rows.times, initial=0))
