"""The forecast models: each projects a history, or returns None if it does not fit."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from spark_rollups.forecasting.models.damped_trend import damped_ahead
from spark_rollups.forecasting.models.known_history import History, steps_in
from spark_rollups.forecasting.models.mean_reversion import reversion_ahead
from spark_rollups.forecasting.models.projected_path import Path
from spark_rollups.forecasting.models.purge_cycle import cycle_ahead
from spark_rollups.forecasting.models.slope import last_change
from spark_rollups.forecasting.models.weekly_season import (
    profile_ahead,
    profile_behind,
    weekly_profile,
)

Floats = NDArray[np.float64]

# Days after which the weight of an increment halves.
_HALF_LIFE = 21.0
# Bounds the growth to a factor of 1000 and avoids overflow.
_FARTHEST = float(np.log(1000.0))


class Model(StrEnum):
    LAST_VALUE = "last value"
    LINEAR = "linear increments"
    DAMPED = "damped trend"
    MEAN_REVERTING = "mean reverting"
    LOGARITHMIC = "logarithmic increments"
    PURGE_CYCLE = "purge cycle"


def _last_value(history: History, days: int) -> Path:
    return Path.from_levels(np.full(days, history.last), history.intraday_rise)


def _linear(history: History, days: int) -> Path:
    growth = _growth_ahead(history.increments, history.growing, history.profile, days)
    return Path.from_levels(history.last + growth, history.intraday_rise)


def _logarithmic(history: History, days: int) -> Path | None:
    if history.levels.min() <= 0:
        return None
    increments = np.diff(np.log(history.levels))
    kept = ~steps_in(increments)
    growth = _growth_ahead(increments, kept, weekly_profile(increments, kept), days)
    factors = np.exp(np.clip(growth, -_FARTHEST, _FARTHEST))
    return Path.from_levels(history.last * factors, history.intraday_rise, relative=True)


def _growth_ahead(
    increments: Floats, kept: NDArray[np.bool_], profile: Floats, days: int
) -> Floats:
    """Cumulative growth: the recent mean increment plus the weekday profile."""
    if not kept.any():
        return np.zeros(days)
    plain = (increments - profile_behind(profile, len(increments)))[kept]
    recent = plain[last_change(plain) :]
    weights = 0.5 ** (np.arange(len(recent))[::-1] / _HALF_LIFE)
    slope = float(weights @ recent / weights.sum())
    return np.cumsum(slope + profile_ahead(profile, days))


# The simplest first: the order decides between equal errors.
MODELS: dict[Model, Callable[[History, int], Path | None]] = {
    Model.LAST_VALUE: _last_value,
    Model.LINEAR: _linear,
    Model.DAMPED: damped_ahead,
    Model.MEAN_REVERTING: reversion_ahead,
    Model.LOGARITHMIC: _logarithmic,
    Model.PURGE_CYCLE: cycle_ahead,
}
