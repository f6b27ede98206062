"""Adds the first value of counters whose series appears with its first event.

An increase needs two samples, so a single restore in a month would count as none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from exporter import catalog as c
from exporter.metric import Kind, Origin, Subject

APPEARING = frozenset(
    metric.name
    for metric in c.ALL
    if metric in c.EVENT_TIMES
    or (
        metric.kind is Kind.COUNTER
        and metric.origin is Origin.EVENT
        and metric.subject in (Subject.CONSUMER, Subject.STREAM)
    )
)


class FirstEvents:
    """The last day and value of each series so far; days come in order."""

    def __init__(self) -> None:
        self._days, self._values = np.zeros(64), np.full(64, np.nan)

    def increases(
        self, series: Any, day: int, first: Any, last: Any, increase: Any, watched: Any
    ) -> Any:
        """Increases of a day, with the first values of series that appeared on it.

        A series appeared if it has no earlier row and its system was polled the day before. A
        series that returns adds its growth in between, and nothing after a reset.
        """
        self._grow(int(series.max()) + 1)
        seen, before = self._days[series], self._values[series]
        grown = np.where(before <= first, first - before, 0.0)
        added = np.where(seen > 0, grown, np.where(watched, first, np.nan))
        changes = ~np.isnan(first) & ~np.isnan(added) & (seen != day - 1)
        self._days[series], self._values[series] = day, last
        return np.where(changes, np.nan_to_num(increase) + np.nan_to_num(added), increase)

    def _grow(self, size: int) -> None:
        if size > len(self._days):
            more = max(size, 2 * len(self._days)) - len(self._days)
            self._days = np.concatenate([self._days, np.zeros(more)])
            self._values = np.concatenate([self._values, np.full(more, np.nan)])
