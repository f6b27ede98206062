"""The week in a series: how the increments of one weekday differ from the others'.

Weekdays are counted from the newest day: 0 is its own, and `lead % 7` that of a day ahead.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

WEEK = 7
# Older weeks say little about the next ones.
_WEEKS = 8


def weekday_medians(increments: Floats) -> Floats:
    """For each increment the median of its weekday; of all of them where no week is full."""
    if len(increments) < WEEK:
        return np.full(len(increments), np.median(increments))
    typical = np.median(increments[len(increments) % WEEK :].reshape(-1, WEEK), axis=0)
    return np.asarray(typical[np.arange(-len(increments), 0) % WEEK])


def weekly_profile(increments: Floats, kept: Flags) -> Floats:
    """What each weekday adds to the mean increment: seven numbers whose sum is 0."""
    if np.count_nonzero(kept) < 2 * WEEK:
        return np.zeros(WEEK)
    recent = slice(-_WEEKS * WEEK, None)
    weekday = (np.arange(1 - len(increments), 1) % WEEK)[recent][kept[recent]]
    values = increments[recent][kept[recent]]
    seen = np.bincount(weekday, minlength=WEEK)
    if seen.min() < 2:
        return np.zeros(WEEK)
    mean = np.bincount(weekday, values, WEEK) / seen
    profile = mean - mean.mean()
    chance = _chance(values - mean[weekday], seen)
    between = float(np.mean(profile**2))
    # So much of it as the restlessness of single days does not explain.
    share = max(0.0, 1 - chance / between) if between > 0 else 0.0
    return np.asarray(share * profile)


def _chance(apart: Floats, seen: NDArray[np.intp]) -> float:
    """The variance that the mean of a weekday would have if all weekdays were alike."""
    return float(apart @ apart) / (len(apart) - WEEK) * float(np.mean(1 / seen))


def profile_ahead(profile: Floats, days: int) -> Floats:
    """The profile of the days 1, 2, ... ahead."""
    return np.asarray(profile[np.arange(1, days + 1) % WEEK])


def profile_behind(profile: Floats, days: int) -> Floats:
    """The profile of so many days up to the newest."""
    return np.asarray(profile[np.arange(1 - days, 1) % WEEK])
