"""Counters whose series appears with its first event: what their first value adds.

An increase knows no value before the first sample, so a single restore in a month would be none.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from exporter import catalog as c
from exporter.metric import Kind, Origin, Subject
from spark_rollups.schemas import PLACE

APPEARING = frozenset(
    metric.name
    for metric in c.ALL
    if metric.kind is Kind.COUNTER
    and metric.origin is Origin.EVENT
    and metric.subject in (Subject.CONSUMER, Subject.STREAM)
)
_Series = tuple[Any, ...]


def with_first_events(table: Any, covered: Sequence[date], before: Any) -> Any:
    """Increases of a span of days with the first values of series that came within it.

    A series came on a day when the day before that has data did not have it; what was there when
    the data began is not new. `before` holds the rows of the last covered day before the span.
    """
    rows = _rows(table)
    known = {(*series, day) for series, day in (*_rows(before), *rows)}
    earlier = dict(zip(covered[1:], covered[:-1], strict=True))
    added = []
    firsts, rises = table["first"].to_pylist(), table["increase"].to_pylist()
    for (series, day), first, rise in zip(rows, firsts, rises, strict=True):
        yesterday = earlier.get(day)
        is_new = yesterday is not None and (*series, yesterday) not in known
        counted = is_new and first is not None
        added.append((rise or 0.0) + first if counted else rise)
    place = table.column_names.index("increase")
    return table.set_column(place, "increase", pa.array(added, pa.float64()))


def _rows(table: Any) -> list[tuple[_Series, date]]:
    names = [table[label].to_pylist() for label in ("metric", *PLACE)]
    labels = [tuple(sorted(each)) for each in table["labels"].to_pylist()]
    return list(zip(zip(*names, labels, strict=True), table["day"].to_pylist(), strict=True))
