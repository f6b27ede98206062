"""The trend of a series: a robust slope, its significance, and the sum of steps.

For series without a limit (backlogs, redeliveries, numbers of assets), and for every forecast.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spark_rollups.forecasting.models.daily_levels import Dropped, days_of, points_of
from spark_rollups.forecasting.models.known_history import History, history_of
from spark_rollups.forecasting.models.median import median
from spark_rollups.forecasting.models.slope import slope_range

Floats = NDArray[np.float64]

TREND_DAYS = 28
_LEAST_DAYS = 14


class Direction(StrEnum):
    GROWING = "growing"
    FALLING = "falling"
    STEADY = "steady"  # no significant change
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Trend:
    """Change per day over the last four weeks without steps; low to high is the 95 % interval."""

    direction: Direction
    dropped: Dropped
    observed_days: int
    per_day: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    stepped: float = 0.0  # the sum of the steps: purges are negative, bulk loads positive
    reason: str = ""  # why it is unknown


def trend(times: ArrayLike, values: ArrayLike) -> Trend:
    """Takes hourly or daily points, seconds since 1970, with gaps and invalid values."""
    points = points_of(times, values)
    if not len(points.times):
        return Trend(Direction.UNKNOWN, points.dropped, 0, reason="no points")
    days = days_of(points)
    closes, highs = days.closes[-TREND_DAYS:], days.highs[-TREND_DAYS:]
    first = int(np.argmin(np.isnan(closes)))
    observed = int(np.count_nonzero(~np.isnan(closes)))
    if observed < _LEAST_DAYS:
        reason = f"points on {observed} of the last {TREND_DAYS} days, {_LEAST_DAYS} are needed"
        return Trend(Direction.UNKNOWN, points.dropped, observed, reason=reason)
    history = history_of(closes[first:], highs[first:])
    per_day, low, high = slope_range(_without_steps(history))
    return Trend(
        _direction(low, high),
        points.dropped,
        observed,
        per_day,
        low,
        high,
        level=float(points.values[-1]),
        stepped=float(history.increments[~history.growing].sum()),
    )


def _without_steps(history: History) -> Floats:
    """The levels with each step replaced by the median increment."""
    usual = median(history.increments[history.growing]) if history.growing.any() else 0.0
    stream_growth = np.where(history.growing, history.increments, usual)
    return np.concatenate([[0.0], np.cumsum(stream_growth)])


def _direction(low: float, high: float) -> Direction:
    if low > 0:
        return Direction.GROWING
    return Direction.FALLING if high < 0 else Direction.STEADY
