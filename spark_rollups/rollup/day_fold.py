"""Aggregates hourly rows to daily rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from archive.tables.schema import HOUR_MS
from spark_rollups.rollup.deduplication import deduplicated
from spark_rollups.rollup.identity_index import Identities
from spark_rollups.rollup.rows import DayRows, HourRows, Ranks, day_parts, whole_days


class DayFold:
    """Rows of identities with one series are aggregated at once, others after deduplication."""

    def __init__(self, identities: Identities, kept_by_hour: Any, start: int) -> None:
        self._identities, self._start = identities, start
        self._kept = kept_by_hour  # by rank
        self._parts: list[DayRows] = []
        self._hours: list[HourRows] = []
        self._waiting: list[tuple[HourRows, Ranks]] = []
        self.hours = 0  # bit n is set if hour n has data

    def add(self, rows: HourRows, series: Ranks) -> None:
        shared = self._identities.shared[rows.rank]
        if shared.any():
            self._waiting.append((rows.take(shared), self._identities.order_of[series[shared]]))
            rows = rows.take(~shared)
        self._fold(rows)

    def finish(self) -> tuple[DayRows, HourRows]:
        """Sorted by identity, hours also by time."""
        if self._waiting:
            rows = HourRows.joined(rows for rows, _ in self._waiting)
            order = np.concatenate([order for _, order in self._waiting])
            self._fold(deduplicated(rows, order))
        return whole_days(self._parts), _in_order(HourRows.joined(self._hours))

    def _fold(self, rows: HourRows) -> None:
        if len(rows) == 0:
            return
        self.hours |= int(np.bitwise_or.reduce(1 << (rows.hour - self._start) // HOUR_MS))
        self._parts.append(day_parts(rows))
        kept = self._kept[rows.rank]
        if kept.any():
            self._hours.append(rows.take(kept))


def _in_order(hours: HourRows) -> HourRows:
    """Sorts by identity and time, unless already sorted."""
    rank, hour = np.diff(hours.rank), np.diff(hours.hour)
    if ((rank > 0) | ((rank == 0) & (hour > 0))).all():
        return hours
    return hours.take(np.lexsort((hours.hour, hours.rank)))
