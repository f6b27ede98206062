"""Reads the inputs of forecasts and trends from the rollup tables, as of a day."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, timedelta
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from spark_rollups.forecasting.forecast_batch import FORECAST_INPUT, forecast_batch
from spark_rollups.forecasting.limits import INFO, CurrentLimits, current_limits
from spark_rollups.forecasting.models.trend import TREND_DAYS
from spark_rollups.forecasting.series_points import Floats, Series, SeriesCollector
from spark_rollups.forecasting.trend_batch import COUNTED, TREND_INPUT, trend_batch
from spark_rollups.metric_selection import FORECASTED, TRENDED, Forecasted
from spark_rollups.rollup.tables.reader import Rollups
from spark_rollups.rollup.tables.schemas import FORECASTS, IDENTITY, TRENDS

# The length of the series in the benchmark of the models.
HISTORY_DAYS: Final = 120
# Series without data for this long are treated as deleted.
GONE_DAYS: Final = 30
GONE_TREND_DAYS: Final = 7
# Series per batch.
BATCH_SERIES: Final = 256

MapBatches = Callable[[Callable[[Any], Any], Iterator[Any]], Iterable[Any]]

_DAY: Final = 86_400.0
_HOUR: Final = 3_600.0
_TIER: Final = "tier"
_FORECASTED: Final = {each.metric: each for each in FORECASTED}


def capacity_tables(rollups: Rollups, as_of: date, each: MapBatches = map) -> tuple[Any, Any]:
    """The tables `forecasts` and `trends` as of the end of a day.

    `each` is a map function, for example of a process pool: all arguments can be pickled.
    """
    forecasts = each(partial(forecast_batch, as_of=as_of), forecast_inputs(rollups, as_of))
    trends = each(partial(trend_batch, as_of=as_of), trend_inputs(rollups, as_of))
    return (
        pa.concat_tables([FORECASTS.empty_table(), *forecasts]),
        pa.concat_tables([TRENDS.empty_table(), *trends]),
    )


def forecast_inputs(rollups: Rollups, as_of: date) -> Iterator[Any]:
    """Batches of FORECAST_INPUT, for forecast_batch."""
    levels = _levels(rollups, as_of)
    if levels is None:
        return
    alive = levels.select(levels.newest("time") > _start(as_of, GONE_DAYS))
    limits = current_limits(_limits(rollups, as_of))
    for first, last in _batches(len(alive)):
        yield _forecast_input(alive.slice(first, last), limits)


def trend_inputs(rollups: Rollups, as_of: date) -> Iterator[Any]:
    """Batches of TREND_INPUT, for trend_batch."""
    days = _days(rollups, as_of)
    if days is None:
        return
    alive = days.select(days.newest("time") > _start(as_of, GONE_TREND_DAYS))
    for first, last in _batches(len(alive)):
        some = alive.slice(first, last)
        rows = some.identities.append_column("times", some.lists("time"))
        yield rows.append_column("levels", some.lists("level")).cast(TREND_INPUT)


def _levels(rollups: Rollups, as_of: date) -> Series | None:
    """The level of an hour is its last sample, dated at the end of the hour."""
    found = SeriesCollector(("time", "level", "high"))
    for rows in _by_day(
        rollups, "hourly", as_of, HISTORY_DAYS, ("hour", "last", "max"), [*_FORECASTED]
    ):
        valid = rows.filter(pc.is_valid(rows.column("last")))
        time = _seconds(valid.column("hour")) + _HOUR
        points = {"time": time, "level": _floats(valid, "last"), "high": _floats(valid, "max")}
        found.add(valid.select(IDENTITY), time, points)
    return found.series()


def _limits(rollups: Rollups, as_of: date) -> Series | None:
    found = SeriesCollector(("last", "last_hour"))
    metrics = [*dict.fromkeys(each.limit for each in FORECASTED), INFO]
    for rows in _by_day(rollups, "daily", as_of, GONE_DAYS, ("last", "last_hour"), metrics):
        valid = rows.filter(pc.is_valid(rows.column("last")))
        hour = _seconds(valid.column("last_hour")) + _HOUR
        found.add(valid.select(IDENTITY), hour, {"last": _floats(valid, "last"), "last_hour": hour})
    return found.series()


def _days(rollups: Rollups, as_of: date) -> Series | None:
    found = SeriesCollector(("time", "level"))
    columns = ("day", "count", "sum", "last")
    for rows in _by_day(rollups, "daily", as_of, TREND_DAYS, columns, TRENDED):
        valid = rows.filter(pc.greater(rows.column("count"), 0))
        time = (valid.column("day").cast(pa.int32()).to_numpy() + 1) * _DAY
        mean = _floats(valid, "sum") / _floats(valid, "count")
        counted = pc.is_in(valid.column("metric"), pa.array(COUNTED)).to_numpy()
        level = np.where(counted, _floats(valid, "last"), mean)
        found.add(valid.select(IDENTITY), time, {"time": time, "level": level})
    return found.series()


def _by_day(
    rollups: Rollups,
    table: str,
    as_of: date,
    days: int,
    columns: Sequence[str],
    metrics: Sequence[str],
) -> Iterator[Any]:
    """Rows day by day, to bound memory."""
    first = as_of - timedelta(days=days - 1)
    for day in rollups.days():
        if first <= day <= as_of:
            yield rollups.table(table, day, day, (*IDENTITY, *columns), metrics)


def _forecast_input(series: Series, limits: CurrentLimits) -> Any:
    identities = series.identities.to_pylist()
    hours = series.newest("time").tolist()
    forecasted = [_FORECASTED[row["metric"]] for row in identities]
    rows = {
        "subject": [each.subject for each in forecasted],
        "metric": [each.metric for each in forecasted],
        "limit_metric": [each.limit for each in forecasted],
        "limit_name": [_limit_name(*each) for each in zip(forecasted, identities, strict=True)],
        **{
            name: [row[name] for row in identities]
            for name in ("system", "account", "stream", "server")
        },
        "limit": [
            limits.limit(each.limit, row, hour)
            for each, row, hour in zip(forecasted, identities, hours, strict=True)
        ],
        "discards_old": [limits.discards_old(row) for row in identities],
        "times": series.lists("time"),
        "levels": series.lists("level"),
        "highs": series.lists("high"),
    }
    return pa.table(rows, schema=FORECAST_INPUT)


def _limit_name(each: Forecasted, row: dict[str, Any]) -> str:
    """An account with tiers has a limit per tier."""
    tier = dict(row["labels"]).get(_TIER, "")
    return f"{each.limit_name} {tier}" if tier else each.limit_name


def _batches(size: int) -> Iterator[tuple[int, int]]:
    for first in range(0, size, BATCH_SERIES):
        yield first, min(first + BATCH_SERIES, size)


def _start(as_of: date, days: int) -> float:
    """The start of the span of `days` days that ends with `as_of`."""
    return ((as_of - date(1970, 1, 1)).days - days + 1) * _DAY


def _seconds(column: Any) -> Floats:
    return np.asarray(column.cast(pa.int64()).to_numpy() / 1000, np.float64)


def _floats(table: Any, column: str) -> Floats:
    return np.asarray(table.column(column).cast(pa.float64()).to_numpy(), np.float64)
