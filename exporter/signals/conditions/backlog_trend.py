"""Whether a backlog grows: a robust slope, compared with how much the backlog moves by chance.

A queue with random arrivals moves like a random walk, and a batch worker makes it a sawtooth. A
growth counts when its Theil-Sen slope is several times the error that such moves give a slope.
The numbers were chosen by simulation: tests/unit/exporter/signals/conditions/test_backlog_trend.py.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from itertools import combinations, pairwise
from math import copysign, inf, sqrt
from statistics import median

from msgspec import Struct, field

from exporter.signals.window import Point
from exporter.tempo import scaled

MAX_POINTS = 32
FIRST_SPACING_SECONDS = scaled(30.0, 0.0)
# With all points this far apart the trend covers about an hour.
_LAST_SPACING_SECONDS = scaled(120.0, 0.0)
MIN_SECONDS = scaled(240.0)
_MIN_POINTS = 8
# How many times the error a slope must be: more where few points give the error.
_TIMES = 3.0
_TIMES_PER_POINT = 48.0
# The variance of a least-squares slope through a random walk, relative to one through its ends.
_SLOPE_VARIANCE = 1.2
# The error comes from moves over this share of the points: batches cancel out in them.
_LAG_SHARE = 6
# And from the moves between neighbours, of which there are more, with this weight.
_NEIGHBOURS = 0.25
# Less work than this is no backlog to report, whatever its trend...
_MIN_DRAIN_SECONDS = scaled(10.0, 0.0)
# ...unless the stream removes its first message within this time.
_LOSS_SECONDS = scaled(3600.0)
# It ends when the backlog fell by so much from its peak, and falls.
_FALLEN = 0.9


# Share of the retention between the first unfinished message and the newest; at 1 it is removed.
Used = Callable[[], float]


def _times() -> array[float]:
    return array("d")


def _numbers() -> array[int]:
    return array("q")


class BacklogTrend(Struct, gc=False):
    """The backlog since it was last cleared, as few points, oldest first."""

    at: array[float] = field(default_factory=_times)
    backlog: array[int] = field(default_factory=_numbers)
    spacing: float = FIRST_SPACING_SECONDS
    since: float | None = None  # when the growth that is reported began
    peak: int = 0

    def note(self, now: Point, first: Point, used: Used = lambda: 0.0) -> None:
        """`first`: start of the window, for the rate of deliveries. `used`: of the retention."""
        at, backlog = self.at, self.backlog
        if at:
            passed = now.at - at[-1]
            if passed < 0:  # the exporter's clock was set back
                del at[:], backlog[:]
                self.since, self.spacing = None, FIRST_SPACING_SECONDS
            elif passed < self.spacing or now.backlog == backlog[-1]:
                return
        at.append(now.at)
        backlog.append(now.backlog)
        if len(at) > MAX_POINTS:
            self._thin_out()
        if self.since is None:
            self._judge_growth(now, first, used)
        else:
            self._judge_end()

    def _thin_out(self) -> None:
        if self.spacing < _LAST_SPACING_SECONDS:
            self.spacing *= 2
            del self.at[1::2], self.backlog[1::2]
        else:
            del self.at[0], self.backlog[0]

    def _judge_growth(self, now: Point, first: Point, used: Used) -> None:
        """By all points, by the younger half and by the last few: the growth may be recent."""
        length = len(self.at)
        for start in (0, length // 2, length - _MIN_POINTS):
            if not 0 <= start <= length - _MIN_POINTS or not self._may_grow(start):
                continue
            needed = _TIMES + _TIMES_PER_POINT / (length - start)
            if self._growth(start) >= needed and (
                drain_seconds(first, now) > _MIN_DRAIN_SECONDS
                or self._seconds_to_loss(start, used()) < _LOSS_SECONDS
            ):
                self.since, self.peak = self.at[start], max(self.backlog)
                return

    def _seconds_to_loss(self, start: int, used: float) -> float:
        """Until the growth since that point has used up the retention: both grow alike."""
        if used <= 0.0:
            return inf
        rise = (self.backlog[-1] - self.backlog[start]) / (self.at[-1] - self.at[start])
        return (1.0 - used) / used * self.backlog[-1] / rise

    def _judge_end(self) -> None:
        newest = self.backlog[-1]
        self.peak = max(self.peak, newest)
        if newest < _FALLEN * self.peak and self._growth(-_MIN_POINTS) < -_TIMES:
            self.since = None

    def _may_grow(self, start: int) -> bool:
        """A cheap test that most backlogs without growth do not pass."""
        at, backlog = self.at, self.backlog
        rise = backlog[-1] - backlog[start]
        if rise <= 0 or backlog[-1] <= backlog[(len(at) + start) // 2]:
            return False
        if at[-1] - at[start] < MIN_SECONDS:
            return False
        some = backlog[start:]
        moves = sum([(b - a) ** 2 for a, b in pairwise(some)])
        return rise * rise >= _TIMES * moves * _NEIGHBOURS

    def _growth(self, start: int) -> float:
        """The slope from the point `start` on, in multiples of its error."""
        return growth(self.at[start:], self.backlog[start:])

    @property
    def rises(self) -> bool:
        """More than at the first point, and not reported."""
        return self.since is None and self.backlog[-1] > self.backlog[0]


def growth(at: array[float], backlog: array[int]) -> float:
    """Theil-Sen slope divided by the error that random moves of the backlog give it."""
    points = list(zip(at, backlog, strict=True))
    slope = median([(y - b) / (x - a) for (a, b), (x, y) in combinations(points, 2)])
    variance = max(
        _variance(points, slope, max(1, len(points) // _LAG_SHARE)),
        _NEIGHBOURS * _variance(points, slope, 1),
    )
    if variance == 0.0:
        return copysign(inf, slope) if slope else 0.0
    return slope / sqrt(_SLOPE_VARIANCE * variance / (at[-1] - at[0]))


def _variance(points: list[tuple[float, int]], slope: float, lag: int) -> float:
    """Variance per second of the moves over `lag` points, without the slope."""
    moves = [
        (y - b - slope * (x - a)) ** 2 / (x - a)
        for (a, b), (x, y) in zip(points, points[lag:], strict=False)
    ]
    return sum(moves) / len(moves)


def drain_seconds(first: Point, now: Point) -> float:
    """Time for the backlog at the rate of first deliveries between the two points."""
    new = now.deliveries - first.deliveries - (now.redeliveries - first.redeliveries)
    return now.backlog * (now.at - first.at) / new if new > 0 else inf
