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
_LAST_SPACING_SECONDS = scaled(120.0, 0.0)
TREND_SECONDS = MAX_POINTS * _LAST_SPACING_SECONDS
MIN_SECONDS = scaled(240.0)
# Kept also if they are older: a worker may come once an hour.
_MIN_POINTS = 5
_FEW_POINTS = 8
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
# After an outage a worker that stays is no visitor.
_MAX_VISIT_SECONDS = scaled(900.0)
# A rise below twice what arrives between two polls may be one of the polls' phase alone.
_STEPS = 2
_KEPT_STEP = 0.9
# Below so many times its error, the slope of all points is no growth any more.
_LEVEL = 1.0


# Share of the retention between the first unfinished message and the newest; at 1 it is removed.
Used = Callable[[], float]


def _times() -> array[float]:
    return array("d")


def _numbers() -> array[int]:
    return array("q")


class BacklogTrend(Struct, gc=False):
    """The backlog that deliveries leave, since it was last cleared, as few points, oldest first.

    It also rises while no worker comes: that is no growth yet, and other conditions tell when a
    worker stays away. Each visit of a worker gives one point, the least that it leaves.
    """

    at: array[float] = field(default_factory=_times)
    backlog: array[int] = field(default_factory=_numbers)
    spacing: float = FIRST_SPACING_SECONDS
    since: float | None = None  # when the growth that is reported began
    level: int = 0  # the backlog at that time
    last: Point | None = None
    pause: float = 0.0  # how long it has risen without a delivery
    visit_until: float = 0.0  # until then deliveries belong to the newest point
    step: float = 0.0  # so much arrives between two polls in a pause: a visit may be seen later

    def note(self, now: Point, first: Point, used: Used = lambda: 0.0) -> None:
        """`first`: start of the window, for the rate of deliveries. `used`: of the retention."""
        last, self.last = self.last, now
        if last is None or now.at < last.at:  # the exporter's clock was set back
            self._restart(now)
            return
        worked = now.deliveries != last.deliveries or now.backlog <= self.backlog[-1]
        if self.visit_until and not (worked and now.at < self.visit_until):
            self.visit_until = 0.0
            self._judge(now, first, used)
        if not worked:
            self.pause += now.at - last.at
            self.step = max(now.backlog - last.backlog, _KEPT_STEP * self.step)
            return
        if self.visit_until:
            self.backlog[-1] = min(self.backlog[-1], now.backlog)
        elif now.at - self.at[-1] >= self.spacing:
            self._add(now)
            if self.pause:  # a visit, no longer than the pause before it
                self.visit_until = now.at + min(self.pause, _MAX_VISIT_SECONDS)
            else:
                self._judge(now, first, used)
        self.pause = 0.0

    def _restart(self, now: Point) -> None:
        self.at, self.backlog = array("d", [now.at]), array("q", [now.backlog])
        self.since, self.spacing = None, FIRST_SPACING_SECONDS
        self.pause = self.visit_until = self.step = 0.0

    def _add(self, now: Point) -> None:
        at, backlog = self.at, self.backlog
        at.append(now.at)
        backlog.append(now.backlog)
        if len(at) > MAX_POINTS and self.spacing < _LAST_SPACING_SECONDS:
            self.spacing *= 2
            del at[1::2], backlog[1::2]
        while len(at) > MAX_POINTS or (len(at) > _MIN_POINTS and now.at - at[0] > TREND_SECONDS):
            del at[0], backlog[0]

    def _judge(self, now: Point, first: Point, used: Used) -> None:
        if self.since is None:
            self._judge_growth(now, first, used)
        else:
            self._judge_end()

    def _judge_growth(self, now: Point, first: Point, used: Used) -> None:
        """By all points, by the younger half and by the last few: the growth may be recent."""
        length = len(self.at)
        for start in (0, length // 2, length - _FEW_POINTS):
            if not 0 <= start <= length - _MIN_POINTS or not self._may_grow(start):
                continue
            needed = _TIMES + _TIMES_PER_POINT / (length - start)
            if self._growth(start) >= needed and (
                drain_seconds(first, now) > _MIN_DRAIN_SECONDS
                or self._seconds_to_loss(start, used()) < _LOSS_SECONDS
            ):
                self.since, self.level = self.at[start], self.backlog[start]
                return

    def _seconds_to_loss(self, start: int, used: float) -> float:
        """Until the growth since that point has used up the retention: both grow alike."""
        if used <= 0.0:
            return inf
        rise = (self.backlog[-1] - self.backlog[start]) / (self.at[-1] - self.at[start])
        return (1.0 - used) / used * self.backlog[-1] / rise

    def _judge_end(self) -> None:
        backlog = self.backlog
        newest, middle = backlog[-1], backlog[len(backlog) // 2]
        if 0 < newest - backlog[0] < 4 * (newest - middle) and newest > self.level:
            return  # the younger half rose too: this is cheaper than the slope
        if newest <= self.level or self._growth(0) < _LEVEL:
            self.since = None

    def _may_grow(self, start: int) -> bool:
        """A cheap test that most backlogs without growth do not pass."""
        at, backlog = self.at, self.backlog
        rise = backlog[-1] - backlog[start]
        if rise <= _STEPS * self.step or backlog[-1] <= backlog[(len(at) + start) // 2]:
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
