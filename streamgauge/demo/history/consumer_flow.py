"""The flow of each consumer: position, redeliveries, exhausted and lost messages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from streamgauge.demo.history.backlog import Queue, capacity, queue
from streamgauge.demo.history.scenario import SERVERS, ConsumerPlan
from streamgauge.demo.history.servers import is_down
from streamgauge.demo.history.stream_flow import StreamFlow
from streamgauge.demo.history.time_grid import Floats, Grid, Mask, chance

_WORSE: Final = 4.0  # repeated deliveries of a consumer that gets slower, at the end


@dataclass(frozen=True)
class ConsumerFlow:
    stream: StreamFlow
    plan: ConsumerPlan
    queue: Queue

    @property
    def grid(self) -> Grid:
        return self.stream.grid

    @property
    def where(self) -> str:
        return f"{self.stream.plan.name}/{self.plan.name}"

    @cached_property
    def exists(self) -> Mask:
        gone = self.plan.removed
        alive = np.ones(len(self.grid), np.bool_) if gone is None else ~self.grid.since(gone)
        lone = self.stream.plan.replicas == 1
        return alive & ~is_down(self.grid, SERVERS[self.stream.plan.leader]) if lone else alive

    @cached_property
    def away(self) -> Mask:
        """No worker pulls, or is bound."""
        plan = self.plan
        return (
            np.zeros(len(self.grid), np.bool_)
            if plan.away is None
            else self.grid.during(*plan.away)
        )

    @cached_property
    def pending(self) -> Floats:
        flying = chance(self.where).poisson(self.stream.plan.rate * 0.1, len(self.grid))
        flying = np.minimum(flying, self.stream.stored)
        return np.minimum(self.queue.pending + flying, self.stream.messages)

    @cached_property
    def ack_pending(self) -> Floats:
        """Messages in progress; of a stuck consumer max_ack_pending."""
        held = self.queue.done / self.grid.step * self.plan.ack_seconds
        held = held + chance(self.where + "/acks").poisson(held * 1.02)
        busy = self.queue.pending > self.queue.done
        held = np.where(busy, np.maximum(held, self.plan.max_ack_pending * 0.6), held)
        held[self.away] = 0
        if self.plan.stuck is not None:
            held[self.grid.since(self.plan.stuck)] = self.plan.max_ack_pending
        return np.asarray(np.minimum(np.floor(held), self.plan.max_ack_pending), np.float64)

    @cached_property
    def delivered(self) -> Floats:
        return self.stream.total - self.pending

    @cached_property
    def lag(self) -> Floats:
        oldest = np.maximum(self.delivered - self.ack_pending, self.stream.floor) + 1
        open_work = self.pending + self.ack_pending > 0
        waited = self.grid.times - self.stream.stored_at(oldest)
        return np.where(open_work, np.maximum(waited, 0.0), 0.0)

    @cached_property
    def repeated(self) -> Floats:
        """In each step."""
        share = np.full(len(self.grid), self.plan.again)
        if self.plan.slower is not None:
            worse = np.interp(-self.grid.ago, [-self.plan.slower[0], 0.0], [1.0, _WORSE])
            share = share * worse
        dice = chance(self.where + "/again")
        return np.asarray(dice.poisson(self.queue.done * share), np.float64)

    @cached_property
    def deliveries(self) -> Floats:
        """In each step, with redeliveries."""
        return self.queue.done + self.repeated

    @cached_property
    def exhausted(self) -> Floats:
        """So far."""
        return np.floor(np.cumsum(self.queue.done) * self.plan.given_up)


def consumer_flow(stream: StreamFlow, plan: ConsumerPlan) -> ConsumerFlow:
    grid = stream.grid
    arriving = stream.stored.copy()
    kept = stream.messages if stream.plan.retention == "limits" else None
    if plan.recreated is not None and plan.recreated < grid.ago[0]:
        again = grid.place(plan.recreated)
        arriving[again] = stream.messages[again]  # it starts with the first message again
    found = queue(arriving, capacity(grid, stream.plan, plan), kept)
    return ConsumerFlow(stream, plan, _without_recreation(stream, found))


def _without_recreation(stream: StreamFlow, found: Queue) -> Queue:
    """Messages of the deleted stream were not lost to retention."""
    ago = stream.plan.recreated
    if ago is None or ago >= stream.grid.ago[0]:
        return found
    place = stream.grid.place(ago)
    lost = found.lost.copy()
    lost[place:] -= lost[place] - lost[place - 1]
    return Queue(found.pending, found.done, lost)
