"""The history of a series up to a day: levels without gaps, increments, and steps.

A step is a purge, a bulk load or a reset. It changes the level and is no growth.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from spark_rollups.forecasting.models.median import median
from spark_rollups.forecasting.models.weekly_season import weekday_medians, weekly_profile

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# An increment is a step if it differs from the median of its weekday by this many robust deviations
# and by this many median increments. The second condition excludes noise of quiet series.
_DEVIATIONS = 6.0
_USUAL = 3.0
_SIGMA = 1.4826
# A level that returns within this many days was an excursion, like a restart or a repair.
_EXCURSION_DAYS = 2
# More excursions than this are normal for the series.
_EXCURSIONS = 3
# Quantile of the daily rises above which a high is a spike.
_SPIKE = 0.9
# From this many on, bulk loads count as growth.
_RECURRING = 3


@dataclass(frozen=True, slots=True)
class History:
    """Days of one series up to a day, newest last."""

    levels: Floats
    highs: Floats  # within each day; the level on days without points
    increments: Floats
    steps: Flags  # which increments are steps
    growing: Flags  # all others are growth, and recurring bulk loads
    profile: Floats  # of the week, in the growth
    intraday_rise: float  # how far the peak of a usual day lies above its close

    @property
    def last(self) -> float:
        return float(self.levels[-1])

    @property
    def tops(self) -> Floats:
        """The highs without spikes, which rise further above the closes around them than others."""
        closes = np.maximum(self.levels, np.concatenate([self.levels[:1], self.levels[:-1]]))
        rises = np.maximum(self.highs - closes, 0.0)
        return np.asarray(closes + np.minimum(rises, np.quantile(rises, _SPIKE)))

    @property
    def purges(self) -> NDArray[np.intp]:
        """Indexes in `increments` of the steps down."""
        return np.flatnonzero(self.steps & (self.increments < 0))


def history_of(closes: Floats, highs: Floats) -> History:
    """The first and the last day must be observed."""
    levels = without_gaps(_without_excursions(closes))
    increments = np.diff(levels)
    steps = steps_in(increments)
    growing = _growing(increments, steps)
    profile = weekly_profile(increments, growing)
    known = np.where(np.isnan(highs), levels, highs)
    rise = _intraday_rise(closes, highs)
    return History(levels, known, increments, steps, growing, profile, rise)


def _growing(increments: Floats, steps: Flags) -> Flags:
    loads = steps & (increments > 0)
    return ~steps | loads if np.count_nonzero(loads) >= _RECURRING else ~steps


def without_gaps(closes: Floats) -> Floats:
    """Interpolates missing days linearly."""
    seen = ~np.isnan(closes)
    if seen.all():
        return closes
    place = np.arange(len(closes))
    return np.interp(place, place[seen], closes[seen])


def steps_in(increments: Floats) -> Flags:
    if len(increments) < 3:
        return np.zeros(len(increments), np.bool_)
    apart = np.abs(increments - weekday_medians(increments))
    deviation = _SIGMA * median(apart)
    scale = max(_DEVIATIONS * deviation, _USUAL * median(np.abs(increments)))
    floor = 1e-9 * float(np.abs(increments).max())
    return np.asarray(apart > max(scale, floor), np.bool_)


def _without_excursions(closes: Floats) -> Floats:
    """Marks the days of a few excursions as missing."""
    seen = np.flatnonzero(~np.isnan(closes))
    increments = np.diff(closes[seen])
    steps = np.flatnonzero(steps_in(increments))
    found = []
    for away, back in pairwise(steps):
        left_over = abs(increments[away] + increments[back])
        if back - away <= _EXCURSION_DAYS and left_over <= 0.2 * abs(increments[away]):
            found.append((away, back))
    if not 0 < len(found) <= _EXCURSIONS:
        return closes
    cleaned = closes.copy()
    for away, back in found:
        cleaned[seen[away + 1 : back + 1]] = np.nan
    return cleaned


def _intraday_rise(closes: Floats, highs: Floats) -> float:
    """The median over the last four weeks, which ignores spikes and the peaks before purges."""
    above = (highs - closes)[~np.isnan(closes)][-28:]
    return max(0.0, median(above))
