"""The mean-reverting model: a level that returns to its usual one, like a stream with max_age.

level(h) = usual + weekday(h) + r^h * (newest - usual - weekday(0)).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spark_rollups.forecasting.models.known_history import History
from spark_rollups.forecasting.models.median import median
from spark_rollups.forecasting.models.projected_path import Curve, Path, peaks_of_returning
from spark_rollups.forecasting.models.weekly_season import (
    profile_ahead,
    profile_behind,
    weekly_profile,
)

Floats = NDArray[np.float64]

_DAYS = 56
# A slower return is not seen within the days above.
_SLOWEST = 0.97


def reversion_ahead(history: History, days: int) -> Path:
    levels = history.levels[-_DAYS:]
    profile = weekly_profile(levels, np.ones(len(levels), np.bool_))
    plain = levels - profile_behind(profile, len(levels))
    usual = median(plain)
    left = persistence(plain) ** np.arange(1.0, days + 1)
    ahead = usual + profile_ahead(profile, days) + left * (float(plain[-1]) - usual)
    ahead = np.maximum(ahead, 0.0)
    # Errors grow as those of a first-order autoregression.
    return Path(
        Curve(ahead, np.sqrt(1 - left**2)), peaks_of_returning(ahead + history.intraday_rise)
    )


def persistence(levels: Floats) -> float:
    """The share of the distance to the mean that is left a day later."""
    apart = levels - levels.mean()
    whole = float(apart @ apart)
    # The distances of a constant are rounding errors.
    if whole <= 1e-18 * float(levels @ levels):
        return 0.0
    near = float(apart[1:] @ apart[:-1]) / whole
    # Corrects the bias of few days.
    return min(_SLOWEST, max(0.0, near + (1 + 4 * near) / len(levels)))
