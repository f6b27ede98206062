"""Adds the days of the month to the first rows of tables."""

from __future__ import annotations

import math
from dataclasses import replace

from exporter import catalog as c
from exporter.metric import Metric
from spark_rollups.report.cell_values import Kind
from spark_rollups.report.facts.assets import Assets
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.model import Column, Table

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
