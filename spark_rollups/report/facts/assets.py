"""Assets (streams, consumers, servers) of two months, with their statistics as arrays.

NaN means unknown. The arrays of both months have the same order, so they can be compared.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from numpy.typing import NDArray

from exporter.metric import Metric
from spark_rollups.report.facts.source import (
    Floats,
    Name,
    Source,
    daily_rows,
    floats,
    folded,
    names_in,
    slices,
    with_labels,
)

Indexes = NDArray[np.int64]
Mask = NDArray[np.bool_]
# The newest day may be a minute old and lack the slow requests.
_STILL_SEEN = timedelta(days=1)
_SEPARATOR = "\x1f"  # not allowed in names of streams, consumers or servers


class Statistic(StrEnum):
    """A statistic of a metric over the month."""

    FIRST = "first"
    LAST = "last"
    MIN = "min"
    MAX = "max"
    SUM = "sum"
    COUNT = "count"
    INCREASE = "increase"
    DAYS = "days"  # days with data


@dataclass(frozen=True)
class Assets:
    labels: Name
    names: list[Name]
    keys: Any  # Arrow array of the joined names, for lookups
    seen: Mask  # which assets were seen in this month
    end: date | None = None  # the newest day with data of any asset
    extra: Name = ()  # labels that are stored in the map `labels`
    _found: dict[str, tuple[Indexes, pa.Table]] = field(repr=False, default_factory=dict)

    def __len__(self) -> int:
        return len(self.names)

    def column(self, metric: Metric | str, number: Statistic) -> Floats:
        """One value per asset; NaN where the month has no such series."""
        result = np.full(len(self.names), np.nan)
        found = self._found.get(metric if isinstance(metric, str) else metric.name)
        if found is not None:
            indexes, table = found
            result[indexes] = floats(table[number.value])
        return result

    def at_end(self, metric: Metric) -> Floats:
        """The last value of assets seen on the newest day or the day before; else NaN."""
        if self.end is None:
            return np.full(len(self.names), np.nan)
        least = self.end - _STILL_SEEN
        there = [day is not None and day >= least for day in self.day(metric, last=True)]
        return np.where(there, self.column(metric, Statistic.LAST), np.nan)

    def limit(self, limit: Metric, level: Metric) -> Floats:
        """The limit at the end of the month; NaN if its series ended before that of the level."""
        days = zip(self.day(limit, last=True), self.day(level, last=True), strict=True)
        removed = [until is not None and seen is not None and until < seen for until, seen in days]
        return np.where(removed, np.nan, self.at_end(limit))

    def mean(self, metric: Metric) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            mean: Floats = self.column(metric, Statistic.SUM) / self.column(metric, Statistic.COUNT)
        return mean

    def day(self, metric: Metric, last: bool) -> list[date | None]:
        """The first or the last day with data."""
        result: list[date | None] = [None] * len(self.names)
        if metric.name in self._found:
            indexes, table = self._found[metric.name]
            days = table["last_day" if last else "first_day"].to_pylist()
            for index, value in zip(indexes.tolist(), days, strict=True):
                result[index] = value
        return result

    def has(self, metric: Metric) -> bool:
        return metric.name in self._found

    def position(self, name: Name) -> int | None:
        """The index of one asset."""
        return self._positions.get(name)

    @cached_property
    def _positions(self) -> dict[Name, int]:
        return {name: index for index, name in enumerate(self.names)}

    def indexes(self, table: pa.Table) -> Indexes:
        """The asset of each row of another table with the same labels; -1 for an unknown one."""
        found = pc.index_in(joined(table, self.labels), value_set=self.keys)
        return np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False), dtype=np.int64)


def joined(table: pa.Table, labels: Sequence[str]) -> Any:
    columns = [pc.cast(table[label], pa.string()) for label in labels]
    made = pc.binary_join_element_wise(*columns, _SEPARATOR) if len(columns) > 1 else columns[0]
    return made.combine_chunks() if isinstance(made, pa.ChunkedArray) else made


def two_months(
    source: Source,
    labels: Name,
    metrics: Collection[Metric],
    days: Sequence[date],
    days_before: Sequence[date],
    extra: Sequence[str] = (),
) -> tuple[Assets, Assets]:
    """This month and the month before, over all assets seen in either."""
    names = [metric.name for metric in metrics]
    tables = [folded(source, names, labels, span, extra) for span in (days, days_before)]
    all_labels = (*labels, *extra)
    all_assets = _all_assets(tables, all_labels)
    keys = joined(all_assets, all_labels)
    listed = names_in(all_assets, all_labels)
    none_seen = np.zeros(len(listed), bool)
    now, before = (
        _assets(
            table,
            Assets(
                all_labels, listed, keys, none_seen.copy(), max(span, default=None), tuple(extra)
            ),
        )
        for table, span in zip(tables, (days, days_before), strict=True)
    )
    return now, before


def _all_assets(tables: Sequence[pa.Table], labels: Sequence[str]) -> pa.Table:
    parts = [table.select(list(labels)) for table in tables if table.num_rows]
    if not parts:
        return pa.table({label: pa.array([], pa.string()) for label in labels})
    unique = pa.concat_tables(parts).group_by(list(labels), use_threads=False).aggregate([])
    return unique.sort_by([(label, "ascending") for label in labels])


def _assets(table: pa.Table, assets: Assets) -> Assets:
    """Adds the statistics of the table."""
    if not table.num_rows:
        return assets
    indexes = assets.indexes(table)
    assets.seen[indexes] = True
    metrics = table["metric"].combine_chunks().dictionary_encode()
    which = metrics.indices.to_numpy(zero_copy_only=False)
    for number, metric in enumerate(metrics.dictionary.to_pylist()):
        rows = np.flatnonzero(which == number)
        assets._found[metric] = (indexes[rows], table.take(pa.array(rows)))  # noqa: SLF001
    return assets


def days_of(
    source: Source, assets: Assets, metric: Metric, wanted: Collection[int], column: str,
    days: Sequence[date],
) -> dict[int, list[tuple[date, float]]]:  # fmt: skip
    """The daily values of a few assets, oldest first, for a figure."""
    result: dict[int, list[tuple[date, float]]] = {index: [] for index in wanted}
    for first, last in slices(days):
        table = rows_between(source, assets, metric, first, last, ("day", column))
        indexes = assets.indexes(table)
        rows = np.flatnonzero(np.isin(indexes, list(result)))
        few = table.take(pa.array(rows))
        for index, day, value in zip(
            indexes[rows].tolist(), few["day"].to_pylist(), few[column].to_pylist(), strict=True
        ):
            if value is not None:
                result[index].append((day, float(value)))
    return {index: sorted(found) for index, found in result.items()}


def rows_between(
    source: Source, assets: Assets, metric: Metric, first: date, last: date, columns: Sequence[str],
    table: str = "daily",
) -> pa.Table:  # fmt: skip
    """Rows of one metric with the labels of the assets as columns."""
    plain = [label for label in assets.labels if label not in assets.extra]
    wanted = ["metric", *plain, *columns, *(["labels"] if assets.extra else [])]
    if table == "daily":
        return with_labels(daily_rows(source, first, last, wanted, [metric.name]), assets.extra)
    found = source.table(table, first, last, columns=wanted, metrics=[metric.name])
    return with_labels(found, assets.extra)
