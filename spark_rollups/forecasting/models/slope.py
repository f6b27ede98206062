"""Slopes: the median of all pairs, with the range in which chance alone may have put it."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Growth counts as changed when it held for as many days and lies as many standard errors apart.
_LEAST_DAYS = 5
_CLEAR = 4.0
_WEEK = 7
_Z95 = 1.96  # of the normal distribution: a fortieth lies beyond on each side


def theil_sen(levels: Floats) -> float:
    """A day's change: the median over all pairs of days. Needs no gaps; 0 for a single day."""
    slopes = pair_slopes(levels)
    return float(np.median(slopes)) if len(slopes) else 0.0


def pair_slopes(levels: Floats) -> Floats:
    earlier, later, apart = _pairs(len(levels))
    return np.asarray((levels[later] - levels[earlier]) / apart)


def slope_range(levels: Floats) -> tuple[float, float, float]:
    """The slope, and the range that holds it with 95 %: Sen's, for days that resemble each other.

    Days a week apart are compared where there are enough, so that the week is not taken for a trend.
    """
    count, season = len(levels), _WEEK if len(levels) >= 3 * _WEEK else 1
    earlier, later, apart = _pairs(count)
    chosen = apart % season == 0
    slopes = (levels[later] - levels[earlier])[chosen] / apart[chosen]
    slope = float(np.median(slopes))
    variance = sum(_variance(len(range(day, count, season))) for day in range(season))
    share = _Z95 * np.sqrt(variance * _resemblance(levels, slope)) / len(slopes) / 2
    low, high = np.quantile(slopes, (max(0.0, 0.5 - share), min(1.0, 0.5 + share)))
    return slope, float(low), float(high)


def _variance(count: int) -> float:
    """Of Kendall's score among so many days without a trend."""
    return count * (count - 1) * (2 * count + 5) / 18


def _resemblance(levels: Floats, slope: float) -> float:
    """How many days say as much as one that stands for itself: 1 when none resembles the next."""
    count = len(levels)
    rest = levels - slope * np.arange(count)
    rest = rest - rest.mean()
    whole = float(rest @ rest)
    # What rounding leaves of a straight line resembles itself by accident.
    if whole <= 1e-18 * float(levels @ levels):
        return 1.0
    near = float(rest[1:] @ rest[:-1]) / whole
    # In few days the likeness looks smaller than it is.
    near = min(0.97, max(0.0, near + (1 + 4 * near) / count))
    return (1 + near) / (1 - near)


@lru_cache(maxsize=8)
def _pairs(count: int) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
    earlier, later = np.triu_indices(count, 1)
    return earlier, later, (later - earlier).astype(np.float64)


def last_change(increments: Floats) -> int:
    """The place from which on growth is another than before; 0 when it never clearly changed."""
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
