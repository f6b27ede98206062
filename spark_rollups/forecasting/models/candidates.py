"""The candidates: each draws the days ahead from the days that were, or says that it does not fit."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from spark_rollups.forecasting.models.known_history import Past, steps_in
from spark_rollups.forecasting.models.projected_path import Path
from spark_rollups.forecasting.models.purge_cycle import LEAST_PURGES, cycle_ahead
from spark_rollups.forecasting.models.slope import last_change, theil_sen
from spark_rollups.forecasting.models.weekly_season import (
    profile_ahead,
    profile_behind,
    weekly_profile,
)

Floats = NDArray[np.float64]

_THEIL_SEN_DAYS = 28
# The weight of an increment halves with as many days: a growth that changed is soon followed.
_HALF_LIFE = 21.0
# A thousand times more or less is no forecast any more, and must not overflow.
_FARTHEST = float(np.log(1000.0))


class Model(StrEnum):
    LAST_VALUE = "last value"
    LINEAR = "linear increments"
    THEIL_SEN = "Theil-Sen"
    LOGARITHMIC = "logarithmic increments"
    PURGE_CYCLE = "purge cycle"


def _last_value(past: Past, days: int) -> Path:
    return Path.over(np.full(days, past.last), past.over)


def _linear(past: Past, days: int) -> Path:
    return Path.over(past.last + _growth_ahead(past.increments, past.growing, days), past.over)


def _logarithmic(past: Past, days: int) -> Path | None:
    if past.levels.min() <= 0:
        return None
    increments = np.diff(np.log(past.levels))
    growth = _growth_ahead(increments, ~steps_in(increments), days)
    return Path.over(past.last * np.exp(np.clip(growth, -_FARTHEST, _FARTHEST)), past.over)


def _theil_sen(past: Past, days: int) -> Path:
    slope = theil_sen(_without_rare_purges(past)[-_THEIL_SEN_DAYS:])
    return Path.over(past.last + slope * np.arange(1.0, days + 1), past.over)


def _without_rare_purges(past: Past) -> Floats:
    """The levels as if they had led to the newest one; purges that recur are the way of the series."""
    if not 0 < len(past.purges) < LEAST_PURGES:
        return past.levels
    increments = past.increments.copy()
    increments[past.purges] = 0.0
    return past.last - np.append(np.cumsum(increments[::-1])[::-1], 0.0)


def _growth_ahead(increments: Floats, kept: NDArray[np.bool_], days: int) -> Floats:
    """The sum of the days ahead: the recent mean increment and the weekday's share."""
    if not kept.any():
        return np.zeros(days)
    profile = weekly_profile(increments, kept)
    plain = (increments - profile_behind(profile, len(increments)))[kept]
    recent = plain[last_change(plain) :]
    weights = 0.5 ** (np.arange(len(recent))[::-1] / _HALF_LIFE)
    slope = float(weights @ recent / weights.sum())
    return np.cumsum(slope + profile_ahead(profile, days))


# In the order of preference between equals: the simplest first.
MODELS: dict[Model, Callable[[Past, int], Path | None]] = {
    Model.LAST_VALUE: _last_value,
    Model.LINEAR: _linear,
    Model.THEIL_SEN: _theil_sen,
    Model.LOGARITHMIC: _logarithmic,
    Model.PURGE_CYCLE: cycle_ahead,
}
