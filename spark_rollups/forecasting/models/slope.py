"""The Theil-Sen slope with its confidence interval, and changes of growth."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from spark_rollups.forecasting.models.median import median

Floats = NDArray[np.float64]

# Growth has changed if it differs by this many standard errors for this many days.
_LEAST_DAYS = 5
_CLEAR = 4.0
_WEEK = 7
_Z95 = 1.96  # 0.975 quantile of the normal distribution


def slope_range(levels: Floats) -> tuple[float, float, float]:
    """The median slope over all pairs of days, and its 95 % confidence interval by Sen.

    The interval is corrected for autocorrelation. Compares days that are weeks apart if there are enough, so that the week is no trend.
    """
    count, season = len(levels), _WEEK if len(levels) >= 3 * _WEEK else 1
    earlier, later, apart = _pairs(count)
    chosen = apart % season == 0
    slopes = (levels[later] - levels[earlier])[chosen] / apart[chosen]
    slope = median(slopes)
    variance = sum(_variance(len(range(day, count, season))) for day in range(season))
    share = _Z95 * np.sqrt(variance * _variance_inflation(levels, slope)) / len(slopes) / 2
    low, high = np.quantile(slopes, (max(0.0, 0.5 - share), min(1.0, 0.5 + share)))
    return slope, float(low), float(high)


def _variance(count: int) -> float:
    """The variance of Kendall's score without a trend."""
    return count * (count - 1) * (2 * count + 5) / 18


def _variance_inflation(levels: Floats, slope: float) -> float:
    """The factor by which autocorrelation increases the variance; 1 without autocorrelation."""
    count = len(levels)
    residuals = levels - slope * np.arange(count)
    residuals = residuals - residuals.mean()
    whole = float(residuals @ residuals)
    # The residuals of a straight line are rounding errors.
    if whole <= 1e-18 * float(levels @ levels):
        return 1.0
    near = float(residuals[1:] @ residuals[:-1]) / whole
    # Corrects the bias of few days.
    near = min(0.97, max(0.0, near + (1 + 4 * near) / count))
    return (1 + near) / (1 - near)


@lru_cache(maxsize=8)
def _pairs(count: int) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
    earlier, later = np.triu_indices(count, 1)
    return earlier, later, (later - earlier).astype(np.float64)


def last_change(increments: Floats) -> int:
    """The index of the last significant change of growth; 0 without one."""
    place = 0
    while (found := _clearest_change(increments[place:])) > 0:
        place += found
    return place


def _clearest_change(increments: Floats) -> int:
    count = len(increments)
    if count < 2 * _LEAST_DAYS:
        return 0
    places = np.arange(_LEAST_DAYS, count - _LEAST_DAYS + 1)
    sums, squares = np.cumsum(increments), np.cumsum(increments**2)
    before, after = sums[places - 1], sums[-1] - sums[places - 1]
    between = before**2 / places + after**2 / (count - places) - sums[-1] ** 2 / count
    best = int(np.argmax(between))
    within = squares[-1] - sums[-1] ** 2 / count - between[best]
    deviations = between[best] / max(within / (count - 2), 1e-12 * squares[-1], 1e-300)
    return int(places[best]) if deviations > _CLEAR**2 else 0
