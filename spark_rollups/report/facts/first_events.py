"""Adds the first value of counters whose series appears with its first event.

An increase needs two samples, so a single restore in a month would count as none.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, timedelta
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from exporter import catalog as c
from exporter.metric import Kind, Origin, Subject
from spark_rollups.rollup.tables.schemas import SUBJECT_LABELS

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
_Series = tuple[Any, ...]  # metric, subject labels, other labels
_SYSTEM = 1 + SUBJECT_LABELS.index("system")


def with_first_events(table: Any, before: Any, watched: Collection[tuple[str, date]]) -> Any:
    """Increases of a span of days, with the first values of series that appeared in it.

    A series appeared if it has no earlier row and its system was polled the day before. A series
    that returns adds its growth in between. `before` holds the rows of the days before the span,
    `watched` the systems and days with polls.
    """
    rows = _rows(table)
    lasts = _last_values(before, _rows(before)) | _last_values(table, rows)
    days_of: dict[_Series, list[date]] = {}
    for series, day in sorted(lasts, key=lambda each: each[1]):
        days_of.setdefault(series, []).append(day)
    added = []
    firsts, rises = table["first"].to_pylist(), table["increase"].to_pylist()
    for (series, day), first, rise in zip(rows, firsts, rises, strict=True):
        yesterday = day - timedelta(days=1)
        older = [each for each in days_of[series] if each < day]
        if first is None or (older and older[-1] == yesterday):
            added.append(rise)
        elif older:
            added.append((rise or 0.0) + _grown_meanwhile(lasts[series, older[-1]], first))
        else:
            is_new = (series[_SYSTEM], yesterday) in watched
            added.append((rise or 0.0) + first if is_new else rise)
    index = table.column_names.index("increase")
    return table.set_column(index, "increase", pa.array(added, pa.float64()))


def _last_values(
    table: Any, rows: list[tuple[_Series, date]]
) -> dict[tuple[_Series, date], float | None]:
    return dict(zip(rows, table["last"].to_pylist(), strict=True))


def _grown_meanwhile(last: float | None, first: float) -> float:
    """0 after a reset: the time of the reset is unknown."""
    return first - last if last is not None and last <= first else 0.0


def _rows(table: Any) -> list[tuple[_Series, date]]:
    names = [table[label].to_pylist() for label in ("metric", *SUBJECT_LABELS)]
    labels = [tuple(sorted(each)) for each in table["labels"].to_pylist()]
    return list(zip(zip(*names, labels, strict=True), table["day"].to_pylist(), strict=True))
