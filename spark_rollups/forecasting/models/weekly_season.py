"""The weekly season: how the increments of each weekday differ from the mean.

Weekday 0 is that of the newest day; a day ahead has weekday `lead % 7`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spark_rollups.forecasting.models.median import median, medians

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

WEEK = 7
# Older weeks are ignored.
_WEEKS = 8


def weekday_medians(increments: Floats) -> Floats:
    """The median of the weekday of each increment; of all increments below one week."""
    if len(increments) < WEEK:
        return np.full(len(increments), median(increments))
    typical = medians(increments[len(increments) % WEEK :].reshape(-1, WEEK))
    return np.asarray(typical[np.arange(-len(increments), 0) % WEEK])


def weekly_profile(increments: Floats, kept: Flags) -> Floats:
    """The difference of each weekday from the mean increment: seven numbers with sum 0."""
    if np.count_nonzero(kept) < 2 * WEEK:
        return np.zeros(WEEK)
    recent = slice(-_WEEKS * WEEK, None)
    weekday = (np.arange(1 - len(increments), 1) % WEEK)[recent][kept[recent]]
    values = increments[recent][kept[recent]]
    seen = np.bincount(weekday, minlength=WEEK)
    if seen.min() < 2:
        return np.zeros(WEEK)
    mean = np.bincount(weekday, values, WEEK) / seen
    profile = mean - mean.sum() / WEEK
    noise = _noise_variance(values - mean[weekday], seen)
    between = float(profile @ profile) / WEEK
    # Shrinks the profile by the share that noise explains.
    share = max(0.0, 1 - noise / between) if between > 0 else 0.0
    return np.asarray(share * profile)


def _noise_variance(apart: Floats, seen: NDArray[np.intp]) -> float:
    """The variance of weekday means without a season."""
    return float(apart @ apart) / (len(apart) - WEEK) * float((1 / seen).sum()) / WEEK


def profile_ahead(profile: Floats, days: int) -> Floats:
    """The profile of the days 1, 2, ... ahead."""
    return np.asarray(profile[np.arange(1, days + 1) % WEEK])


def profile_behind(profile: Floats, days: int) -> Floats:
    """The profile of the last `days` days."""
    return np.asarray(profile[np.arange(1 - days, 1) % WEEK])
