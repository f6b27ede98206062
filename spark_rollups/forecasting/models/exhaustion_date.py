"""The date at which a limit is reached, for the low, median and high forecast."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spark_rollups.forecasting.models.daily_levels import DAY
from spark_rollups.forecasting.models.interval import Band
from spark_rollups.forecasting.models.result import Exhaustion, Outlook

Floats = NDArray[np.float64]


def unknown(reason: str) -> Exhaustion:
    return Exhaustion(Outlook.UNKNOWN, reason=reason)


def exhaustion_of(peaks: Band, level: float, limit: float, now: float) -> Exhaustion:
    """REACHED if the newest level is at the limit."""
    if level >= limit:
        return Exhaustion(Outlook.REACHED, now, now, now)
    earliest, median, latest = (
        _date(np.concatenate([[level], quantile]), limit, now)
        for quantile in (peaks.high, peaks.median, peaks.low)
    )
    not_before = now + len(peaks.median) * DAY if median is None else None
    outlook = _outlook(earliest, median, latest)
    return Exhaustion(outlook, earliest, median, latest, not_before)


def _outlook(earliest: float | None, median: float | None, latest: float | None) -> Outlook:
    if latest is not None:
        return Outlook.ACT
    if median is not None:
        return Outlook.EXPECTED
    return Outlook.NOT_BEFORE if earliest is None else Outlook.WATCH


def _date(tops: Floats, limit: float, now: float) -> float | None:
    """Interpolates between the daily peaks; the first one, now, is below the limit."""
    reached = np.flatnonzero(tops >= limit)
    if not len(reached):
        return None
    day = int(reached[0])
    before, then = float(tops[day - 1]), float(tops[day])
    return now + (day - 1 + (limit - before) / (then - before)) * DAY
