"""The flow of each stream: messages stored, kept and rejected."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from streamgauge.demo.history.backlog import capacity, queue
from streamgauge.demo.history.scenario import DAY, ConsumerPlan, StreamPlan
from streamgauge.demo.history.time_grid import Floats, Grid, chance, growth, season, wobble

_BEFORE_DAYS: Final = 120  # age of a stream when the history begins
_ABANDONED_BEFORE: Final = 2_600


@dataclass(frozen=True)
class StreamFlow:
    """Counted from the first message: `total` were stored, those up to `floor` are removed."""

    grid: Grid
    plan: StreamPlan
    sent: Floats  # in each step, without duplicates
    total: Floats
    floor: Floats
    rejected: Floats  # so far

    @cached_property
    def messages(self) -> Floats:
        if self.plan.per_subject:
            return np.full(len(self.grid), float(self.plan.per_subject * self.plan.subjects))
        return self.total - self.floor

    @cached_property
    def size(self) -> Floats:
        return self.messages * self.plan.size

    @cached_property
    def origin(self) -> Floats:
        """The total when the stream was last created."""
        if self.plan.recreated is None or self.plan.recreated >= self.grid.ago[0]:
            return np.zeros(len(self.grid))
        place = self.grid.place(self.plan.recreated)
        return np.where(self.grid.since(self.plan.recreated), self.total[place], 0.0)

    @cached_property
    def stored(self) -> Floats:
        return np.diff(self.total, prepend=self.total[0])

    @cached_property
    def last_stored(self) -> Floats:
        """When the newest message was stored."""
        return np.maximum.accumulate(np.where(self.stored > 0, self.grid.times, self.grid.times[0]))

    @cached_property
    def limit(self) -> Floats | None:
        """In messages."""
        return _limit(self.grid, self.plan)

    def stored_at(self, number: Floats) -> Floats:
        """When the message of this number was stored."""
        before = self.total[0] / (_BEFORE_DAYS * DAY)
        earlier = self.grid.times[0] - (self.total[0] - number) / before
        within = np.interp(number, self.total, self.grid.times)
        return np.where(number < self.total[0], earlier, within)


def stream_flow(grid: Grid, plan: StreamPlan, readers: tuple[ConsumerPlan, ...]) -> StreamFlow:
    name = plan.name
    rate = plan.rate * growth(grid, plan.growth) * season(grid, plan.weekend, plan.night)
    expected = rate * wobble(name, len(grid), 0.08) * grid.step
    sent = chance(name + "/sent").poisson(expected).astype(np.float64)
    first_week = sent[: round(7 * DAY / grid.step)]
    usual = float(first_week.mean()) / grid.step * _BEFORE_DAYS * DAY
    if plan.retention != "limits":
        return _removed_when_acked(grid, plan, sent, usual, readers)
    limit = _limit(grid, plan)
    if plan.discard == "new" and limit is not None:
        return _rejecting(grid, plan, sent, usual, limit)
    return _dropping(grid, plan, sent, usual, limit)


def _limit(grid: Grid, plan: StreamPlan) -> Floats | None:
    if plan.max_messages is not None:
        before = plan.raised or (0.0, plan.max_messages)
        return np.where(grid.since(before[0]), plan.max_messages, before[1]).astype(np.float64)
    if plan.max_bytes is not None:
        return np.full(len(grid), float(plan.max_bytes // plan.size))
    return None


def _removed_when_acked(
    grid: Grid, plan: StreamPlan, sent: Floats, usual: float, readers: tuple[ConsumerPlan, ...]
) -> StreamFlow:
    """Interest and work queue: keeps unprocessed and exhausted messages."""
    total = usual + np.cumsum(sent)
    waiting = [queue(sent, capacity(grid, plan, reader)).pending for reader in readers]
    given_up = sum(reader.given_up for reader in readers)
    abandoned = np.floor(np.cumsum(sent) * given_up) + (_ABANDONED_BEFORE if given_up else 0)
    flying = chance(plan.name + "/flying").poisson(plan.rate, len(grid))
    kept = np.max(waiting, axis=0) + abandoned + flying
    floor = np.maximum.accumulate(total - kept)
    return StreamFlow(grid, plan, sent, total, floor, np.zeros(len(grid)))


def _rejecting(
    grid: Grid, plan: StreamPlan, sent: Floats, usual: float, limit: Floats
) -> StreamFlow:
    """Nothing expires: it grows until it is full, then rejects."""
    purges = np.zeros(len(grid))
    for ago, amount in plan.purged:
        if ago < grid.ago[0]:
            purges[grid.place(ago)] = amount
    kept = max((plan.kept_at_end or 0.0) - float(sent.sum()) + float(purges.sum()), 0.0)
    stored = np.empty(len(grid))
    held = np.empty(len(grid))
    for place, (arriving, purged, most) in enumerate(
        zip(sent.tolist(), purges.tolist(), limit.tolist(), strict=True)
    ):
        kept = max(kept - purged, 0.0)
        stored[place] = min(arriving, max(most - kept, 0.0))
        kept += stored[place]
        held[place] = kept
    total = max(usual, held[0]) + np.cumsum(stored)
    return StreamFlow(grid, plan, sent, total, total - held, np.cumsum(sent - stored))


def _dropping(
    grid: Grid, plan: StreamPlan, sent: Floats, usual: float, limit: Floats | None
) -> StreamFlow:
    total = usual + np.cumsum(sent)
    floor = np.zeros(len(grid))
    if plan.max_age is not None:
        then = grid.times - plan.max_age
        early = usual - (grid.times[0] - then) * usual / (_BEFORE_DAYS * DAY)
        floor = np.where(then < grid.times[0], early, np.interp(then, grid.times, total))
    if limit is not None:
        floor = np.maximum(floor, total - limit)
    if plan.recreated is not None and plan.recreated < grid.ago[0]:
        begun = total[grid.place(plan.recreated)]
        floor = np.where(grid.since(plan.recreated), np.maximum(floor, begun), floor)
    floor = np.maximum.accumulate(np.floor(np.maximum(floor, 0.0)))
    return StreamFlow(grid, plan, sent, total, floor, np.zeros(len(grid)))
