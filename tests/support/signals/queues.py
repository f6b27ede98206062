"""Simulated queues: 100 messages a second arrive and are worked off, with chance and in bursts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from exporter.signals.conditions.backlog_trend import BacklogTrend
from exporter.signals.window import WINDOW_SECONDS, Point

ARRIVALS = 100.0  # a second
POLL = 15
POLLS_AN_HOUR = 3600 // POLL
Backlogs = NDArray[np.int64]


def backlogs(
    kind: str, burst: int, ratio: float, hours: float, seed: int, start: int = 0
) -> Backlogs:
    """The backlog at each poll. `ratio`: arrivals to services; the queue never falls below 0.

    random: bursts arrive at random times; regular: at equal intervals; services are random in
    both. batches: single messages arrive at random, and a worker takes a batch at a time.
    """
    chance, seconds = np.random.default_rng(seed), int(hours * 3600)
    services = ARRIVALS / ratio
    ticks = np.arange(seconds + 1)
    if kind == "batches":
        arrived = chance.poisson(ARRIVALS, seconds)
        served = np.diff(np.floor(ticks * services / burst + chance.random())) * burst
    else:
        served = chance.poisson(services, seconds)
        if kind == "random":
            arrived = chance.poisson(ARRIVALS / burst, seconds) * burst
        else:
            arrived = np.diff(np.floor(ticks * ARRIVALS / burst)) * burst
    free = np.cumsum(arrived - served) + start
    queue: Backlogs = (free - np.minimum.accumulate(np.minimum(free, 0))).astype(np.int64)
    return queue[POLL - 1 :: POLL]


def falls_behind(polled: Iterable[int], rate: float = ARRIVALS) -> Iterator[bool]:
    """What the trend reports at each poll; `rate`: deliveries a second."""
    trend: BacklogTrend | None = None
    for number, backlog in enumerate(polled):
        at, window = float(number * POLL), min(WINDOW_SECONDS, number * POLL)
        if backlog == 0:
            trend = None
            yield False
            continue
        trend = trend or BacklogTrend()
        first = Point(at - window, round((at - window) * rate), 0, 0, 0, 0)
        trend.note(Point(at, round(at * rate), 0, 0, int(backlog), 0), first)
        yield trend.since is not None
