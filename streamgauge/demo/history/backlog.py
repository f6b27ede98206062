"""The backlog of a consumer: messages pending, processed and lost at each timestamp. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamgauge.demo.history.scenario import ConsumerPlan, StreamPlan
from streamgauge.demo.history.time_grid import Floats, Grid, growth, wobble


@dataclass(frozen=True, slots=True)
class Queue:
    pending: Floats  # at each timestamp
    done: Floats  # in each step
    lost: Floats  # so far


def capacity(grid: Grid, stream: StreamPlan, reader: ConsumerPlan) -> Floats:
    """Messages that the consumer can process in each step."""
    speed = np.full(len(grid), reader.speed)
    if reader.slower is not None:
        since, slowest = reader.slower
        speed = np.interp(-grid.ago, [-since, 0.0], [reader.speed, slowest])
    if reader.away is not None:
        speed[grid.during(*reader.away)] = 0.0
    if reader.stuck is not None:
        speed[grid.since(reader.stuck)] = 0.0
    usual = stream.rate * growth(grid, stream.growth) * grid.step
    return np.asarray(
        speed * usual * wobble(f"{stream.name}/{reader.name}", len(grid), 0.05), np.float64
    )


def queue(arriving: Floats, able: Floats, kept: Floats | None = None) -> Queue:
    """`kept` is how many messages the stream keeps: pending ones beyond it are lost."""
    pending, done = np.empty(len(arriving)), np.empty(len(arriving))
    lost = np.zeros(len(arriving))
    waiting = gone = 0.0
    limits = np.full(len(arriving), np.inf) if kept is None else kept
    for place, (more, most, held) in enumerate(
        zip(arriving.tolist(), able.tolist(), limits.tolist(), strict=True)
    ):
        waiting += more
        if waiting > held:
            gone += waiting - held
            waiting = held
        done[place] = min(waiting, float(int(most)))
        waiting -= done[place]
        pending[place], lost[place] = waiting, gone
    return Queue(pending, done, lost)
