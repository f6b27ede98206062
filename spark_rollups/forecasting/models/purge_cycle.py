"""The purge cycle model: a level that grows and is purged regularly, by calendar or by size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spark_rollups.forecasting.models.known_history import History
from spark_rollups.forecasting.models.median import median
from spark_rollups.forecasting.models.projected_path import Curve, Path, growth_of_error

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

# Fewer purges are single events.
LEAST_PURGES = 3
# Older cycles may have followed another rule.
_CYCLES = 8
# Variation above which purges are irregular.
_IRREGULAR = 0.35
# A purge overdue by this factor will not happen.
_LATE = 2.0


@dataclass(frozen=True, slots=True)
class Cycle:
    """The parameters of the last few cycles."""

    growth: float  # per day
    trough: float  # the level after a purge
    peak: float  # the level before a purge
    length: float  # days between purges
    last_rise: float  # growth between the peak and the purge
    by_length: bool  # purges follow the calendar rather than the size
    since: int  # days since the last purge
    lowest: float
    highest: float


def cycle_ahead(history: History, days: int) -> Path | None:
    cycle = cycle_of(history)
    if cycle is None:
        return None
    levels, tops = np.empty(days), np.empty(days)
    level, since = history.last, float(cycle.since)
    for day in range(days):
        level, since = level + cycle.growth, since + 1
        tops[day] = level + history.intraday_rise
        if since >= cycle.length if cycle.by_length else level > cycle.peak + cycle.growth / 2:
            tops[day] = level - cycle.growth + cycle.last_rise
            # Carries over the fraction of a day, so that long projections do not drift.
            level, since = cycle.trough, max(0.0, since - cycle.length)
        levels[day] = level
    # The highest of a level that returns grows slower than that of one that grows.
    peaks = Curve(np.maximum.accumulate(tops), growth_of_error(days, 0.5))
    return Path(Curve(levels, np.ones(days)), peaks, cycle.lowest, cycle.highest)


def cycle_of(history: History) -> Cycle | None:
    """None if purges are rare or irregular, or the next one is long overdue."""
    starts, ends = _purges(history)
    if len(starts) < LEAST_PURGES:
        return None
    lengths = np.diff(starts).astype(np.float64)
    peaks, troughs = history.levels[starts], history.levels[ends + 1]
    calendar, size = _variation(lengths), _variation(peaks - troughs)
    since = len(history.increments) - 1 - int(ends[-1])
    growth = _growth(history, int(starts[0]))
    if min(calendar, size) > _IRREGULAR or since > _LATE * lengths.max() or growth <= 0:
        return None
    window = history.levels[starts[0] :]
    return Cycle(
        growth=growth,
        trough=median(troughs),
        peak=median(peaks),
        length=float(lengths.mean()),
        last_rise=max(0.0, median(history.highs[starts + 1] - peaks)),
        by_length=calendar <= size,
        since=since,
        lowest=float(window.min()),
        highest=float(window.max()),
    )


def _growth(history: History, since: int) -> float:
    growing = history.increments[since:][history.growing[since:]]
    return float(growing.mean()) if len(growing) else 0.0


def _purges(history: History) -> tuple[Places, Places]:
    """First and last day of the latest purges; adjacent days are one purge."""
    days = history.purges
    if not len(days):
        return days, days
    apart = np.diff(days) > 1
    starts, ends = days[np.append(True, apart)], days[np.append(apart, True)]
    return starts[-_CYCLES:], ends[-_CYCLES:]


def _variation(values: Floats) -> float:
    mean = float(values.mean())
    return float(values.std()) / mean if mean > 0 else np.inf
