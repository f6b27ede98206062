"""Rows of tables from arrays of assets, and their sparklines."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from exporter import catalog as c
from exporter.metric import Metric
from spark_rollups.report.cell_values import Kind, Level, Value
from spark_rollups.report.facts.assets import Assets, Floats, Mask, known
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.model import Column, Row, Table

Cells = Floats | Sequence[Value]  # one column of a table


def identity(labels: Sequence[str]) -> tuple[Column, ...]:
    return tuple(Column(label, label.capitalize()) for label in labels)


def rows_of(
    assets: Assets,
    mask: Mask,
    columns: Sequence[Cells],
    levels: Sequence[Level] | None = None,
) -> list[Row]:
    """One row per asset of the mask; its name comes first."""
    rows = []
    for index in np.flatnonzero(mask).tolist():
        values = (_cell(column[index]) for column in columns)
        level = Level.NORMAL if levels is None else levels[index]
        rows.append(Row((*assets.names[index], *values), level))
    return rows


def _cell(value: Value) -> Value:
    return known(value) if isinstance(value, float) else value  # numpy's floats are floats


def by_column(column: int, falling: bool = True) -> Callable[[Row], float | None]:
    """A key for sorted_rows: the value of a column, counted with the identity columns."""

    def key(row: Row) -> float | None:
        value = row.values[column]
        if not isinstance(value, int | float):
            return None
        return float(value) if falling else -float(value)

    return key


_ROWS = 50  # with a sparkline; the page shows 25 by default
_SHOWN: dict[str, tuple[str, Metric, str, Column]] = {
    "streams": ("streams", c.STREAM_BYTES, "last", Column("days", "Size by day", Kind.BYTES)),
    "consumers": ("consumers", c.CONSUMER_LAG_SECONDS, "max", Column("days", "Worst lag by day", Kind.SECONDS)),
    "servers": ("servers", c.SERVER_STORAGE_USED_BYTES, "last", Column("days", "Storage by day", Kind.BYTES)),
}  # fmt: skip


def with_sparklines(facts: Facts, table: Table) -> Table:
    if table.key not in _SHOWN or not table.rows:
        return table
    name, metric, statistic, column = _SHOWN[table.key]
    assets: Assets = getattr(facts, name).now
    labels = len(assets.labels)
    rows = list(table.rows)
    places = {
        number: assets.position(tuple(str(value) for value in row.values[:labels]))
        for number, row in enumerate(rows[:_ROWS])
    }
    by_day, month = assets.daily(metric, statistic), facts.month.all_days()
    for number, place in places.items():
        if place is None:
            continue
        days = zip(facts.days, by_day[place].tolist(), strict=True)
        if levels := {day: level for day, level in days if not math.isnan(level)}:
            rows[number] = replace(rows[number], days=tuple(levels.get(day) for day in month))
    return replace(table, rows=rows, days_of=column)
