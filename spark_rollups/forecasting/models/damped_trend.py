"""The damped trend: growth that slows down by the same share each day, like that of a set of keys.

level(t) = c + b * f^t, with the half-life of f^t chosen from a grid by least squares.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from spark_rollups.forecasting.models.known_history import History
from spark_rollups.forecasting.models.projected_path import Path
from spark_rollups.forecasting.models.weekly_season import profile_ahead

Floats = NDArray[np.float64]

_DAYS = 120
# In days. Slower ones look like a line within the days above. With 20 half-lives the error of
# saturating series is a fifth larger.
_HALF_LIVES = np.geomspace(4.0, 120.0, 60)


def damped_ahead(history: History, days: int) -> Path:
    """From the newest level on. On the day of a step the level grows as around it."""
    recent, growing = history.increments[-_DAYS:], np.flatnonzero(history.growing[-_DAYS:])
    if not len(growing):
        return Path.from_levels(np.full(days, history.last), history.intraday_rise)
    grown = np.cumsum(np.interp(np.arange(len(recent)), growing, recent[growing]))
    season = np.cumsum(profile_ahead(history.profile, days))
    return Path.from_levels(
        history.last + damped_growth(grown, days) + season, history.intraday_rise
    )


def damped_growth(levels: Floats, days: int) -> Floats:
    """The change from the newest level to the days ahead."""
    shapes, newest = _decays(len(levels))
    fits = shapes @ levels
    best = int(np.argmax(fits**2))
    left = 0.5 ** (np.arange(1.0, days + 1) / _HALF_LIVES[best])
    return np.asarray(fits[best] * newest[best] * (left - 1))


@lru_cache(maxsize=128)
def _decays(days: int) -> tuple[Floats, Floats]:
    """By half-life: the decay, centred and of unit length, and its distance to 0 on the newest day."""
    age = np.arange(days - 1.0, -1, -1)
    decays = 2.0 ** (age / _HALF_LIVES[:, None])  # 1 on the newest day
    decays -= decays.mean(axis=1, keepdims=True)
    lengths = np.sqrt((decays**2).sum(axis=1))
    return decays / lengths[:, None], 1 / lengths
