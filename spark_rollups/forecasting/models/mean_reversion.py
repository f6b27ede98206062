"""The mean-reverting model: a level that returns to a line, like a stream with max_age.

level(h) = line(h) + weekday(h) + r^h * (newest - line(0) - weekday(0)). The line is flat unless its
slope is clear: the load of a stream with max_age may grow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spark_rollups.forecasting.models.known_history import History
from spark_rollups.forecasting.models.median import median
from spark_rollups.forecasting.models.projected_path import Curve, Path
from spark_rollups.forecasting.models.weekly_season import (
    WEEK,
    profile_ahead,
    profile_behind,
    weekly_profile,
)

Floats = NDArray[np.float64]

_DAYS = 120
# A slower return is not seen within these days.
_SLOWEST = 0.97
# A slope is clear beyond this many of its standard errors.
_CLEAR = 2.0


def reversion_ahead(history: History, days: int) -> Path:
    levels = history.levels[-_DAYS:]
    age = np.arange(float(len(levels))) - (len(levels) - 1) / 2
    # Between the first and the last week, so that the season does not tilt it.
    tilt = (levels[-WEEK:].sum() - levels[:WEEK].sum()) / WEEK / (len(levels) - WEEK)
    profile = weekly_profile(levels - tilt * age, np.ones(len(levels), np.bool_))
    plain = levels - profile_behind(profile, len(levels))
    slope, kept, variance = _clear_slope(age, plain)
    apart = plain - slope * age
    usual, h = median(apart), np.arange(1.0, days + 1)
    left = persistence(apart) ** h
    ahead = usual + slope * (age[-1] + h) + left * (float(apart[-1]) - usual)
    ahead = np.maximum(ahead + profile_ahead(profile, days), 0.0)
    # The errors of a first-order autoregression, and those of the slope.
    spread = np.sqrt(1 - left**2 + kept * variance * (age[-1] + h) ** 2)
    peaks = np.maximum.accumulate(ahead + history.intraday_rise)
    # The highest of a level that only varies grows slower than that of one on a slope.
    return Path(Curve(ahead, spread), Curve(peaks, h ** (0.5 + 0.3 * kept)))


def _clear_slope(age: Floats, levels: Floats) -> tuple[float, float, float]:
    """The slope, the share of it that noise does not explain, and its variance by that of the levels.

    The slope is shrunk by that share.
    """
    slope = float(age @ levels) / float(age @ age)
    apart = levels - levels.sum() / len(levels) - slope * age
    near = persistence(apart)
    variance = (1 + near) / (1 - near) / float(age @ age)
    noise = _CLEAR**2 * variance * float(apart @ apart) / (len(levels) - 2)
    kept = max(0.0, 1 - noise / slope**2) if slope**2 > 0 else 0.0
    return kept * slope, kept, variance


def persistence(levels: Floats) -> float:
    """The share of the distance to the mean that is left a day later."""
    apart = levels - levels.sum() / len(levels)
    whole = float(apart @ apart)
    # The distances of a constant are rounding errors.
    if whole <= 1e-18 * float(levels @ levels):
        return 0.0
    near = float(apart[1:] @ apart[:-1]) / whole
    # Corrects the bias of few days.
    return min(_SLOWEST, max(0.0, near + (1 + 4 * near) / len(levels)))
