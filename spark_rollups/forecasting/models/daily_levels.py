"""Converts hourly or daily points to one level per day; drops invalid values.

Days end at the time of the newest point, so that the newest day is complete.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

DAY = 86_400.0
# Older days do not help to forecast the next month.
LONGEST_DAYS = 365
# Values of a NATS server are smaller; 2^64-1 and similar values mean "none".
_TOO_LARGE = float(1 << 63)
# With this many points per day, the close is the median of the last three: one may be a spike.
_MANY_A_DAY = 12


@dataclass(frozen=True, slots=True)
class Dropped:
    """Dropped points by reason."""

    not_a_number: int = 0
    negative: int = 0
    absurd: int = 0
    repeated: int = 0

    @property
    def total(self) -> int:
        return self.not_a_number + self.negative + self.absurd + self.repeated

    def __str__(self) -> str:
        counts = ((field.name, getattr(self, field.name)) for field in fields(self))
        parts = [f"{count} {name.replace('_', ' ')}" for name, count in counts if count]
        return ", ".join(parts) or "none"


@dataclass(frozen=True, slots=True)
class Points:
    """Valid levels, sorted by time; `highs` are the maxima of the period of each point."""

    times: Floats
    values: Floats
    highs: Floats
    dropped: Dropped


@dataclass(frozen=True, slots=True)
class Days:
    """The last and the highest level of each day; NaN for days without points."""

    end: float
    closes: Floats
    highs: Floats

    @property
    def observed(self) -> int:
        return int(np.count_nonzero(~np.isnan(self.closes)))


def points_of(times: ArrayLike, values: ArrayLike, highs: ArrayLike | None = None) -> Points:
    """Sorts by time; drops and counts invalid points. The last of points with equal times stays."""
    at = np.asarray(times, np.float64)
    level = np.asarray(values, np.float64)
    high = level if highs is None else np.asarray(highs, np.float64)
    if not at.shape == level.shape == high.shape or at.ndim != 1:
        raise ValueError(
            f"times {at.shape}, values {level.shape}, highs {high.shape}: shapes differ"
        )
    numbers = np.isfinite(at) & np.isfinite(level)
    negative = numbers & (level < 0)
    absurd = numbers & (level >= _TOO_LARGE)
    good = numbers & ~negative & ~absurd
    at, level, high = at[good], level[good], high[good]
    order = np.argsort(at, kind="stable")
    at, level, high = at[order], level[order], high[order]
    last = np.append(at[1:] != at[:-1], True) if len(at) else np.zeros(0, np.bool_)
    dropped = Dropped(
        int(np.count_nonzero(~numbers)),
        int(np.count_nonzero(negative)),
        int(np.count_nonzero(absurd)),
        int(np.count_nonzero(~last)),
    )
    # An invalid high, or one below its point, is replaced by the point.
    high = np.where(np.isfinite(high) & (high < _TOO_LARGE), np.maximum(high, level), level)
    return Points(at[last], level[last], high[last], dropped)


def days_of(points: Points) -> Days:
    """At most a year, oldest day first. Needs at least one point."""
    end = float(points.times[-1])
    age = np.floor((end - points.times) / DAY).astype(np.int64)
    first = int(np.searchsorted(-age, -LONGEST_DAYS, side="right"))
    place = age[first] - age[first:]
    starts = np.flatnonzero(np.diff(place, prepend=-1))
    ends = np.append(starts[1:], len(place))
    closes = np.full(place[-1] + 1, np.nan)
    highs = closes.copy()
    closes[place[starts]] = _closes(points.values[first:], starts, ends)
    highs[place[starts]] = np.maximum.reduceat(points.highs[first:], starts)
    return Days(end, closes, highs)


def _closes(values: Floats, starts: NDArray[np.intp], ends: NDArray[np.intp]) -> Floats:
    last = values[ends - 1]
    if len(values) < 3:
        return last
    middle = np.median([last, values[ends - 2], values[ends - 3]], axis=0)
    return np.where(ends - starts >= _MANY_A_DAY, middle, last)
