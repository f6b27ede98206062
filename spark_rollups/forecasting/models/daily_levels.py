"""Points of a series, hourly or daily, to one level a day; what cannot be a level is left out.

Days end where the newest point lies, so the newest day is a whole one.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

DAY = 86_400.0
# Older days say nothing about next month, and would only cost time.
LONGEST_DAYS = 365
# Counts and sizes of a NATS server are below; 2^64-1 and its kin mean "none" there.
_ABSURD = float(1 << 63)
# From this many points a day on, one of them may be a spike, and the last three are asked.
_MANY_A_DAY = 12


@dataclass(frozen=True, slots=True)
class Dropped:
    """Points that were left out, by reason."""

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
    """Finite levels in the order of time; highs are the highest within each point's period."""

    times: Floats
    values: Floats
    highs: Floats
    dropped: Dropped


@dataclass(frozen=True, slots=True)
class Days:
    """The level at the end of each day and the highest within it; NaN where there is no point."""

    end: float
    closes: Floats
    highs: Floats

    @property
    def observed(self) -> int:
        return int(np.count_nonzero(~np.isnan(self.closes)))


def points_of(times: ArrayLike, values: ArrayLike, highs: ArrayLike | None = None) -> Points:
    """Sorted by time, the impossible ones dropped and counted. Of equal times the last one stays."""
    at = np.asarray(times, np.float64)
    level = np.asarray(values, np.float64)
    high = level if highs is None else np.asarray(highs, np.float64)
    if not at.shape == level.shape == high.shape or at.ndim != 1:
        raise ValueError(f"times {at.shape}, values {level.shape}, highs {high.shape}: not alike")
    numbers = np.isfinite(at) & np.isfinite(level)
    negative = numbers & (level < 0)
    absurd = numbers & (level >= _ABSURD)
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
    # A high that is none, or lies below its own point, says nothing beyond the point.
    high = np.where(np.isfinite(high) & (high < _ABSURD), np.maximum(high, level), level)
    return Points(at[last], level[last], high[last], dropped)


def days_of(points: Points) -> Days:
    """At most a year, the oldest first. Needs at least one point."""
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
