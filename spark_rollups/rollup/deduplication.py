"""Deduplicates series of one identity: per hour the series with most samples counts.

Minimum and maximum are those of all series. Also adds the steps of counters between hours.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from archive.tables.chunk_statistics import Floats, Int64s, rise
from archive.tables.schema import HOUR_MS, LOOKBACK_HOURS
from spark_rollups.rollup.rows import HourRows


def row_per_hour(rank: Any, hour: Int64s, count: Int64s, order: Any) -> Int64s:
    """The indexes of the selected rows, sorted by identity and hour.

    `order` breaks ties: the rank of the fingerprint of the series.
    """
    sorted_places: Int64s = np.lexsort((order, -count, hour, rank))
    ranks, when = rank[sorted_places], hour[sorted_places]
    first = np.append(True, (ranks[1:] != ranks[:-1]) | (when[1:] != when[:-1]))
    chosen: Int64s = sorted_places[first[: len(sorted_places)]]
    return chosen


def deduplicated(rows: HourRows, order: Any) -> HourRows:
    """One row per identity and hour. Extremes are those of all series: a pod that started within
    the hour may have seen a value that the one before it did not.
    """
    chosen = rows.take(row_per_hour(rows.rank, rows.hour, rows.count, order))
    indexes = np.lexsort((rows.hour, rows.rank))
    ranks, when = rows.rank[indexes], rows.hour[indexes]
    first = np.append(True, (ranks[1:] != ranks[:-1]) | (when[1:] != when[:-1]))
    starts = np.flatnonzero(first[: len(indexes)])
    if len(starts) == len(rows):
        return chosen
    return replace(
        chosen,
        min=np.minimum.reduceat(rows.min[indexes], starts),
        max=np.maximum.reduceat(rows.max[indexes], starts),
    )


def with_steps_between_hours(
    rows: HourRows, series: Any, earlier: tuple[Any, Int64s, Floats]
) -> tuple[HourRows, Any]:
    """Adds the step into each hour, from the newest earlier value of its series.

    `earlier` has series, hour and last value of the day before, sorted by series. Returns the rows
    sorted by series and hour, with their series.
    """
    order = np.lexsort((rows.hour, series))
    rows, series = rows.take(order), series[order]
    before, since = np.full(len(rows), np.nan), np.zeros(len(rows), np.int64)
    follows = series[1:] == series[:-1]
    before[1:][follows], since[1:][follows] = rows.last[:-1][follows], rows.hour[:-1][follows]
    firsts = np.flatnonzero(np.append(True, ~follows)[: len(rows)])
    before[firsts], since[firsts] = _earlier(series[firsts], earlier)
    near = rows.hour - since <= LOOKBACK_HOURS * HOUR_MS
    known = near & ~np.isnan(before) & ~np.isnan(rows.increase)  # gauges have no increase
    steps, fell = rise(before, rows.first)
    with np.errstate(invalid="ignore", over="ignore"):
        increase = rows.increase + np.where(known, steps, 0.0)
    return replace(rows, increase=increase, resets=rows.resets + (known & fell)), series


def _earlier(series: Any, earlier: tuple[Any, Int64s, Floats]) -> tuple[Floats, Int64s]:
    known, hours, lasts = earlier
    if len(known) == 0:
        return np.full(len(series), np.nan), np.zeros(len(series), np.int64)
    index = np.minimum(np.searchsorted(known, series), len(known) - 1)
    found = known[index] == series
    return np.where(found, lasts[index], np.nan), np.where(found, hours[index], 0)
