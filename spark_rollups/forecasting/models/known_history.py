"""The history of a series up to a day: levels without gaps, increments, and steps.

A step is a purge, a bulk load or a reset. It changes the level and is no growth.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from spark_rollups.forecasting.models.weekly_season import weekday_medians

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
# From this many on, bulk loads count as growth.
_RECURRING = 3


@dataclass(frozen=True, slots=True)
class History:
    """Days of one series up to a day, newest last."""

    levels: Floats
    highs: Floats  # within each day; the level on days without points
    increments: Floats
    steps: Flags  # which increments are steps
    intraday_rise: float  # how far the peak of a usual day lies above its close

    @property
    def last(self) -> float:
        return float(self.levels[-1])

    @property
    def purges(self) -> NDArray[np.intp]:
        """Indexes in `increments` of the steps down."""
        return np.flatnonzero(self.steps & (self.increments < 0))

    @property
    def growing(self) -> Flags:
        """Which increments are growth: all except steps; recurring bulk loads are growth."""
        loads = self.steps & (self.increments > 0)
        if np.count_nonzero(loads) >= _RECURRING:
            return ~self.steps | loads
        return ~self.steps


def history_of(closes: Floats, highs: Floats) -> History:
    """The first and the last day must be observed."""
    levels = without_gaps(_without_excursions(closes))
    increments = np.diff(levels)
    steps = steps_in(increments)
    known = np.where(np.isnan(highs), levels, highs)
    return History(levels, known, increments, steps, _intraday_rise(closes, highs))


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
    deviation = _SIGMA * float(np.median(apart))
    scale = max(_DEVIATIONS * deviation, _USUAL * float(np.median(np.abs(increments))))
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
    return max(0.0, float(np.median(above)))
