"""Forecasts one series with the best model of its backtest: levels, and the date of the limit.

Series without a limit get levels and no date.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from spark_rollups.forecasting.models.backtest import (
    LEAST_ORIGINS,
    LEAST_TRAINING_DAYS,
    LONGEST_LEAD_DAYS,
    ORIGIN_STEP_DAYS,
    Backtest,
    backtest,
    predict_linear_errors,
)
from spark_rollups.forecasting.models.candidates import MODELS, Model
from spark_rollups.forecasting.models.daily_levels import DAY, Days, Points, days_of, points_of
from spark_rollups.forecasting.models.exhaustion_date import exhaustion_of, unknown
from spark_rollups.forecasting.models.interval import Band, Range, range_of
from spark_rollups.forecasting.models.known_history import history_of
from spark_rollups.forecasting.models.projected_path import growth_of_error
from spark_rollups.forecasting.models.result import (
    HORIZONS,
    Accuracy,
    Exhaustion,
    Forecast,
    Level,
    Outlook,
)

LEAST_DAYS = LEAST_TRAINING_DAYS + LEAST_ORIGINS * ORIGIN_STEP_DAYS
# Days needed in the last four weeks.
_RECENT_DAYS, _LEAST_RECENT = 28, 14
# A series without newer points has ended.
_STALE_DAYS = 7


def forecast(
    times: ArrayLike,
    values: ArrayLike,
    limit: float | None = None,
    *,
    highs: ArrayLike | None = None,
    now: float | None = None,
) -> Forecast:
    """Takes hourly or daily points, seconds since 1970, in any order, with gaps and invalid values.

    `highs` are the maxima of the period of each point. `now` is used to detect ended series.
    """
    points = points_of(times, values, highs)
    if not len(points.times):
        return _unknown(points, None, "no points")
    days = days_of(points)
    if stale := _stale(days, now):
        return _unknown(points, days, stale)
    if too_little := _too_little(days):
        return _without_model(points, days, limit, too_little)
    found = projection_of(days)
    if found is None:
        reason = f"fewer than {LEAST_ORIGINS} origins for a backtest"
        return _without_model(points, days, limit, reason)
    newest = float(points.values[-1])
    return Forecast(
        _exhaustion(found.ahead.peaks, max(newest, found.last), limit, days.end),
        points.dropped,
        days.observed,
        as_of=days.end,
        level=newest,
        levels=tuple(_level(found.ahead.levels, horizon) for horizon in HORIZONS),
        model=found.model,
        accuracy=_accuracy(points, days, found.tested, found.model),
    )


@dataclass(frozen=True, slots=True)
class Projection:
    model: Model
    tested: Backtest
    ahead: Range
    last: float  # the newest level


def projection_of(days: Days) -> Projection | None:
    """By the best model of the backtest; None if none could be tested often enough."""
    history = history_of(days.closes, days.highs)
    tested = backtest(days, history)
    paths = {model: draw(history, HORIZONS[-1]) for model, draw in MODELS.items()}
    fitting = {model: path for model, path in paths.items() if path is not None}
    model = tested.best(fitting)
    if model is None:
        return None
    return Projection(model, tested, range_of(fitting[model], model, tested), history.last)


def _exhaustion(peaks: Band, level: float, limit: float | None, now: float) -> Exhaustion:
    if limit is None:
        return unknown("no limit")
    if not (math.isfinite(limit) and limit > 0):
        return unknown(f"invalid limit {limit:g}")
    return exhaustion_of(peaks, level, limit, now)


def _stale(days: Days, now: float | None) -> str:
    if now is None or now - days.end <= _STALE_DAYS * DAY:
        return ""
    return f"the newest point is {(now - days.end) / DAY:.0f} days old"


def _too_little(days: Days) -> str:
    """Why there is too little history; "" if there is enough."""
    if days.observed < LEAST_DAYS:
        return f"{days.observed} days with points, {LEAST_DAYS} are needed"
    recent = int(np.count_nonzero(~np.isnan(days.closes[-_RECENT_DAYS:])))
    if recent < _LEAST_RECENT:
        return f"points on only {recent} of the last {_RECENT_DAYS} days"
    return ""


def _without_model(points: Points, days: Days, limit: float | None, reason: str) -> Forecast:
    """Without history only a reached limit is known."""
    found = _unknown(points, days, reason)
    if limit is None or not (math.isfinite(limit) and limit > 0) or points.values[-1] < limit:
        return found
    return replace(found, exhaustion=Exhaustion(Outlook.REACHED, days.end, days.end, days.end))


def _unknown(points: Points, days: Days | None, reason: str) -> Forecast:
    return Forecast(
        unknown(reason),
        points.dropped,
        0 if days is None else days.observed,
        as_of=None if days is None else days.end,
        level=None if days is None else float(points.values[-1]),
        reason=reason,
    )


def _level(ahead: Band, horizon: int) -> Level:
    low, median, high = (float(q[horizon - 1]) for q in (ahead.low, ahead.median, ahead.high))
    return Level(horizon, low, median, high)


def _accuracy(points: Points, days: Days, tested: Backtest, model: Model) -> Accuracy:
    at_30_days = float(growth_of_error(30)[-1]) / _size(points)
    lines = predict_linear_errors(points, days, tested.origins)
    window = min(lines, key=lines.__getitem__, default=None)
    return Accuracy(
        origins=len(tested.origins),
        longest_lead_days=min(LONGEST_LEAD_DAYS, len(days.closes) - 1 - tested.origins[-1].day),
        error=tested.error(model) * at_30_days,
        predict_linear_error=None if window is None else lines[window] * at_30_days,
        predict_linear_days=window,
    )


def _size(points: Points) -> float:
    """The level that errors are relative to; 1 for a series of zeros."""
    return float(points.values[-1]) or float(points.values.mean()) or 1.0
