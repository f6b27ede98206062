"""What came of one forecast, and the shares over many."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bench.forecast.kinds import DAY_HOURS
from bench.forecast.peers import Predicted
from bench.forecast.series import Series
from spark_rollups.forecasting.models.daily_levels import DAY, days_of, points_of
from spark_rollups.forecasting.models.exhaustion_date import exhaustion_of
from spark_rollups.forecasting.models.forecast import forecast, projection_of
from spark_rollups.forecasting.models.result import HORIZONS, Outlook

AHEAD = 30
COVERED = (30, 60, 90)
# The part of a bar, from the earliest to the latest date, that is an edge.
_EDGE = 0.05


@dataclass(frozen=True)
class Outcome:
    kind: str
    warned: bool  # of the limit within 30 days
    came: bool
    error: float  # at 30 days, as a share of the level
    seconds: float
    warned_high: bool = False  # the same for the high limit
    came_high: bool = False
    covered: tuple[bool, ...] = ()  # by the 80 % interval, on COVERED days ahead
    before: bool | None = None  # the limit came before the likely date; None without such a date
    came_at_all: bool = False  # within the 90 days that are known
    at_early_edge: bool = False  # the likely date lies at the early edge of its bar
    at_late_edge: bool = False


def of_ours(series: Series) -> Outcome | None:
    """None if the series is too young."""
    began = time.process_time()
    found = forecast(series.times, series.values, series.limit)
    seconds = time.process_time() - began
    projected = projection_of(days_of(points_of(series.times, series.values)))
    if found.model is None or found.level is None or projected is None:
        return None
    levels, peaks, now = projected.ahead.levels, projected.ahead.peaks, float(series.times[-1])
    high = exhaustion_of(peaks, max(found.level, projected.last), series.high_limit, now)
    when = found.exhaustion
    came = _came(series)
    dated = when.median is not None and when.outlook is not Outlook.REACHED
    place = _place(when.earliest, when.median, when.latest, now) if dated else 0.5
    return Outcome(
        series.kind,
        _soon(when.median, now),
        came <= AHEAD,
        _error(series, float(levels.median[AHEAD - 1])),
        seconds,
        _soon(high.median, now),
        bool(series.future[: AHEAD * DAY_HOURS].max() >= series.high_limit),
        tuple(
            bool(levels.low[day - 1] <= series.future[day * DAY_HOURS - 1] <= levels.high[day - 1])
            for day in COVERED
        ),
        now + came * DAY < when.median if dated and when.median is not None else None,
        bool(np.isfinite(came)),
        place <= _EDGE,
        place >= 1 - _EDGE,
    )


def of_peer(series: Series, predicted: Predicted) -> Outcome:
    highest = float(predicted.tops[:AHEAD].max())
    return Outcome(
        series.kind,
        highest >= series.limit,
        _came(series) <= AHEAD,
        _error(series, float(predicted.levels[AHEAD - 1])),
        predicted.seconds,
        warned_high=highest >= series.high_limit,
        came_high=bool(series.future[: AHEAD * DAY_HOURS].max() >= series.high_limit),
    )


def _came(series: Series) -> float:
    """Days until the limit was reached; infinite if it was not."""
    hours = np.flatnonzero(series.future >= series.limit)
    return (float(hours[0]) + 1) / DAY_HOURS if len(hours) else float("inf")


def _error(series: Series, level: float) -> float:
    truth = float(series.future[AHEAD * DAY_HOURS - 1])
    return abs(level - truth) / truth


def _soon(date: float | None, now: float) -> bool:
    return date is not None and date <= now + AHEAD * DAY


def _place(earliest: float | None, likely: float | None, latest: float | None, now: float) -> float:
    """Where the likely date lies from the earliest, 0, to the latest, 1, or the end of the bar."""
    assert earliest is not None
    assert likely is not None
    last = now + HORIZONS[-1] * DAY if latest is None else latest
    return (likely - earliest) / (last - earliest) if last > earliest else 1.0


def f1(
    outcomes: Sequence[Outcome],
    of: Callable[[Outcome], tuple[bool, bool]] = lambda each: (each.warned, each.came),
) -> float:
    """`of` an outcome: whether it was predicted, and whether it came."""
    pairs = [of(each) for each in outcomes]
    right, wrong = pairs.count((True, True)), sum(warned != came for warned, came in pairs)
    return 2 * right / (2 * right + wrong) if right + wrong else 1.0


def share(values: Sequence[bool]) -> float:
    return sum(values) / len(values) if values else float("nan")
