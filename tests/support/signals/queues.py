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


def visits(
    every: int,
    ratio: float,
    hours: float,
    seed: int,
    *,
    remnant: int = 0,
    burst: int = 1,
    late: int = 0,
    start: int = 0,
) -> tuple[Backlogs, Backlogs]:
    """The backlog and all deliveries at each poll, where a worker comes every so many seconds.

    It takes ten times as many messages a second as arrive, until only `remnant` wait or it took
    the services of the time between two visits. Bursts arrive at random times. `late`: seconds by
    which each visit drifts against the polls.
    """
    chance, seconds = np.random.default_rng(seed), int(hours * 3600)
    arrived = chance.poisson(ARRIVALS / burst, seconds) * burst
    most, speed = round(every * ARRIVALS / ratio), 10 * round(ARRIVALS)
    comes, queue, taken, left = int(chance.integers(0, every)), start, 0, 0
    queues, deliveries = np.zeros(seconds, np.int64), np.zeros(seconds, np.int64)
    for second in range(seconds):
        queue += int(arrived[second])
        if second == comes:
            comes, left = comes + every + late, most
        if left:
            batch = max(0, min(left, speed, queue - remnant))
            queue, taken = queue - batch, taken + batch
            left = left - batch if batch == speed else 0
        queues[second], deliveries[second] = queue, taken
    return queues[POLL - 1 :: POLL], deliveries[POLL - 1 :: POLL]


def falls_behind(
    polled: Iterable[int], rate: float = ARRIVALS, delivered: Backlogs | None = None
) -> Iterator[bool]:
    """What the trend reports at each poll; `rate`: deliveries a second, unless they are given."""
    trend: BacklogTrend | None = None
    counts: list[int] = []
    for number, backlog in enumerate(polled):
        at = float(number * POLL)
        counts.append(round(at * rate) if delivered is None else int(delivered[number]))
        if backlog == 0:
            trend = None
            yield False
            continue
        trend = trend or BacklogTrend()
        early = max(0, number - WINDOW_SECONDS // POLL)
        first = Point(float(early * POLL), counts[int(early)], 0, 0, 0, 0)
        trend.note(Point(at, counts[-1], 0, 0, int(backlog), 0), first)
        yield trend.since is not None
