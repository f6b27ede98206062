"""Hourly rows of a unit: from the hourly table of the archive, or computed from chunks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from archive.tables.chunk_statistics import Floats, Int64s, Mask, chunk_statistics
from archive.tables.schema import HOURLY, HOURLY_SCHEMA, milliseconds
from spark_rollups.datasource.parquet_reader import one_array, row_batches
from spark_rollups.filesystem import Root
from spark_rollups.jobs.unit import Unit
from spark_rollups.rollup.chunks import VALUE_COLUMNS, Chunks, chunks_of
from spark_rollups.rollup.identity_index import Identities
from spark_rollups.rollup.rows import HourRows, Ranks

_WITHOUT_P95: Final = tuple(name for name in HOURLY_SCHEMA.names if name not in ("metric", "p95"))


class UnitSelection:
    """Selects the rows of the archive that belong to a unit."""

    def __init__(self, unit: Unit, identities: Identities, p95: Mask) -> None:
        self._identities = identities
        self.p95 = p95  # by rank
        self._mine = identities.buckets(unit.buckets) == unit.bucket
        # Sorted ids of the series of the unit; None selects all series of its metrics.
        self.series = None if unit.buckets == 1 else self._series()

    def ranks(self, series: Ranks) -> Ranks:
        """The rank of the identity of each row; -1 for rows of other units."""
        ranks = self._identities.ranks(series)
        if self.series is None:
            return ranks
        return np.where((ranks >= 0) & self._mine[ranks], ranks, np.int32(-1))

    def _series(self) -> Int64s:
        ranks = self._identities.rank_of
        return np.flatnonzero((ranks >= 0) & self._mine[ranks])

    def rising(self, rank: Ranks) -> Mask:
        return self._identities.rising[rank]


def statistics_in(
    root: Root, unit: Unit, chosen: UnitSelection
) -> Iterator[tuple[HourRows, Ranks]]:
    """Reads the hourly table."""
    columns = (*_WITHOUT_P95, "p95") if chosen.p95.any() else _WITHOUT_P95
    for path in unit.files:
        for table in row_batches(root, path, columns, unit.metrics, chosen.series):
            yield _rows_of(table, chosen)


def _rows_of(table: Any, chosen: UnitSelection) -> tuple[HourRows, Ranks]:
    series, count = _ints(table, "series"), _ints(table, "count")
    rank = chosen.ranks(series)
    wanted = (rank >= 0) & (count > 0)
    if not wanted.all():
        # Arrow filters faster than numpy.
        table = table.filter(wanted)
        series, rank, count = series[wanted], rank[wanted], count[wanted]
    rising = chosen.rising(rank)
    every = bool(rising.all())
    increase, resets = _floats(table, "increase"), _ints(table, "resets")
    rows = HourRows(
        rank=rank,
        hour=milliseconds(one_array(table, "hour")),
        count=count.astype(np.int64),
        **{name: _floats(table, name) for name in ("min", "max", "sum", "first", "last")},
        p95=_floats(table, "p95") if "p95" in table.column_names else np.full(len(rank), np.nan),
        increase=increase if every else np.where(rising, increase, np.nan),
        resets=(resets if every else np.where(rising, resets, 0)).astype(np.int64),
    )
    return rows, series


def chunk_rows(chunks: Chunks, rank: Ranks, chosen: UnitSelection) -> HourRows:
    """Statistics of chunks, without the steps between hours."""
    rising = chosen.rising(rank)
    found = chunk_statistics(chunks.values, chunks.counts, rising=rising, p95=chosen.p95[rank])
    return HourRows(
        rank,
        chunks.hour,
        found.count,
        found.min,
        found.max,
        found.sum,
        found.first,
        found.last,
        np.where(chosen.p95[rank], found.p95, np.nan),
        np.where(rising, found.increase, np.nan),
        np.where(rising, found.resets, 0),
    )


def lasts_before(root: Root, unit: Unit, chosen: UnitSelection) -> tuple[Ranks, Int64s, Floats]:
    """The last value of each counter on the day before, and its hour."""
    columns = ("series", "hour", "last") if unit.before_source == HOURLY else VALUE_COLUMNS
    parts = [
        _lasts(table, unit.before_source, chosen)
        for path in unit.before
        for table in row_batches(root, path, columns, unit.metrics, chosen.series)
    ]
    if not parts:
        return np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0)
    series, hour, last = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((hour, series))
    newest = order[np.append(series[order][1:] != series[order][:-1], True)[: len(order)]]
    return series[newest], hour[newest], last[newest]


def _lasts(table: Any, source: str, chosen: UnitSelection) -> tuple[Ranks, Int64s, Floats]:
    if source == HOURLY:
        series, last = _ints(table, "series"), _floats(table, "last")
        hour = milliseconds(one_array(table, "hour"))
    else:
        chunks = chunks_of(table)
        none = np.zeros(len(chunks), bool)
        found = chunk_statistics(chunks.values, chunks.counts, rising=none, p95=none)
        series, hour, last = chunks.series, chunks.hour, found.last
    rank = chosen.ranks(series)
    wanted = (rank >= 0) & ~np.isnan(last)
    wanted[wanted] = chosen.rising(rank[wanted])
    return series[wanted], hour[wanted], last[wanted]


def _ints(table: Any, name: str) -> Any:
    return one_array(table, name).to_numpy()


def _floats(table: Any, name: str) -> Floats:
    """NaN for null."""
    column: Floats = one_array(table, name).to_numpy(zero_copy_only=False)
    return column
