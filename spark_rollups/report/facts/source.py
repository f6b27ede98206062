"""Reads the rollups for the report, a week at a time, and aggregates days to months."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import date, timedelta
from typing import Any, Protocol

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from numpy.typing import NDArray

from exporter.catalog import UP
from spark_rollups.report.facts.first_events import APPEARING, with_first_events

Floats = NDArray[np.float64]
Name = tuple[str, ...]  # the labels of an asset, in the order of its subject

SYSTEM = ("system",)
ACCOUNT = ("system", "account")
STREAM = ("system", "account", "stream")
CONSUMER = ("system", "account", "stream", "consumer")
SERVER = ("system", "server")

_SLICE_DAYS = 7
_SOME = pc.ScalarAggregateOptions(min_count=1)  # a sum of nothing is null, not 0
_NUMBERS = ("min", "max", "sum", "first", "last", "increase")
# How to combine each column over the days of a series, in the order of days.
_FOLDS = (
    ("min", "min"), ("max", "max"), ("sum", "sum"), ("count", "sum"), ("first", "first"),
    ("last", "last"), ("increase", "sum"), ("resets", "sum"), ("days", "sum"),
    ("first_day", "min"), ("last_day", "max"),
)  # fmt: skip


class Source(Protocol):
    """The part of `spark_rollups.rollup.tables.reader.Rollups` that the report uses."""

    def days(self) -> list[date]: ...
    def hours(self, day: date) -> int: ...
    def table(
        self,
        name: str,
        first_day: date,
        last_day: date,
        columns: Sequence[str] | None = None,
        metrics: Collection[str] | None = None,
    ) -> Any: ...
    def snapshot_days(self) -> list[date]: ...
    def snapshot_table(self, name: str, day: date) -> Any: ...


def folded(
    source: Source,
    metrics: Collection[str],
    by: Sequence[str],
    days: Sequence[date],
    extra: Sequence[str] = (),
) -> pa.Table:
    """Aggregates days by metric and labels; `extra` are labels from the map `labels`."""
    keys = ["metric", *by, *extra]
    parts = [
        _aggregated(_prepared(part, extra), keys)
        for part in _weeks(source, metrics, by, days, extra)
    ]
    return _aggregated(pa.concat_tables(parts), keys) if parts else pa.table({})


def _weeks(
    source: Source,
    metrics: Collection[str],
    by: Sequence[str],
    days: Sequence[date],
    extra: Sequence[str],
) -> Iterator[pa.Table]:
    columns = ["metric", *by, "day", "count", *_NUMBERS, "resets", *(["labels"] if extra else [])]
    for first, last in slices(days):
        yield daily_rows(source, first, last, columns, metrics)


def daily_rows(
    source: Source, first: date, last: date, columns: Sequence[str], metrics: Collection[str]
) -> pa.Table:
    """Rows of the daily table. Counters that appear with their first event count that value too."""
    appearing = sorted(APPEARING.intersection(metrics))
    plain = sorted(set(metrics) - set(appearing))
    parts = []
    if plain:
        parts.append(source.table("daily", first, last, columns=columns, metrics=plain))
    if appearing:
        parts.append(_appearing(source, first, last, appearing).select(list(columns)))
    return pa.concat_tables(parts)


def _appearing(source: Source, first: date, last: date, metrics: list[str]) -> pa.Table:
    """Reads the week before too: series seen there have not just appeared."""
    since, eve = first - timedelta(days=_SLICE_DAYS), first - timedelta(days=1)
    table = source.table("daily", first, last, metrics=metrics)
    before = source.table("daily", since, eve, metrics=metrics)
    watched: set[tuple[str, date]] = set()
    for span in ((since, eve), (first, last)):
        polls = source.table("daily", *span, columns=["system", "day"], metrics=[UP.name])
        watched.update(zip(polls["system"].to_pylist(), polls["day"].to_pylist(), strict=True))
    return with_first_events(table, before, watched)


def slices(days: Sequence[date]) -> Iterator[tuple[date, date]]:
    """Spans of at most a week that cover the days; this bounds memory."""
    first = min(days, default=None)
    while first is not None and first <= max(days):
        last = min(first + timedelta(days=_SLICE_DAYS - 1), max(days))
        yield first, last
        first = last + timedelta(days=1)


def _prepared(part: pa.Table, extra: Sequence[str]) -> pa.Table:
    day = part["day"]
    added = part.append_column("days", pa.array(np.ones(len(part), np.int64)))
    added = added.append_column("first_day", day).append_column("last_day", day)
    return with_labels(added, extra)


def with_labels(table: pa.Table, extra: Sequence[str]) -> pa.Table:
    """Replaces the map of labels by a column per label, "" where a series has none."""
    for label in extra:
        values = pc.fill_null(pc.map_lookup(table["labels"], pa.scalar(label), "first"), "")
        table = table.append_column(label, values)
    return table.drop_columns(["labels"]) if extra else table


def _aggregated(table: pa.Table, keys: list[str]) -> pa.Table:
    """Sorts by day first: `first` and `last` depend on the order of rows."""
    ordered = table.sort_by("first_day")
    aggregations = [(name, how, _SOME if how == "sum" else None) for name, how in _FOLDS]
    grouped = ordered.group_by(keys, use_threads=False).aggregate(aggregations)
    made = grouped.select([*keys, *(f"{name}_{how}" for name, how in _FOLDS)])
    return made.rename_columns([*keys, *(name for name, _ in _FOLDS)])


def names_in(table: pa.Table, labels: Sequence[str]) -> list[Name]:
    columns = [table[label].to_pylist() for label in labels]
    return list(zip(*columns, strict=True))


def floats(column: Any) -> Floats:
    """NaN for null."""
    return np.asarray(pc.cast(column, pa.float64()).to_numpy(zero_copy_only=False), dtype=float)


def latest_labels(
    source: Source, metric: str, by: Sequence[str], days: Sequence[date]
) -> dict[Name, dict[str, str]]:
    """The newest labels of an info series, by asset."""
    newest: dict[Name, tuple[Any, dict[str, str]]] = {}
    for first, last in slices(days):
        table = source.table(
            "daily", first, last, columns=["metric", *by, "labels", "last_hour"], metrics=[metric]
        )
        rows = zip(
            names_in(table, by), table["last_hour"].to_pylist(), table["labels"].to_pylist(),
            strict=True,
        )  # fmt: skip
        for name, hour, labels in rows:
            if name not in newest or hour >= newest[name][0]:
                newest[name] = (hour, dict(labels))
    return {name: labels for name, (_, labels) in newest.items()}
