"""The conditions of a consumer at each timestamp, and its verdict: the gravest of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from alerts import thresholds
from exporter.signals.conditions.rules import STUCK_ACK_WAITS
from exporter.signals.conditions.words import RATIOS, Condition
from exporter.signals.verdict import Verdict, verdict
from streamgauge.demo.history.consumer_flow import ConsumerFlow
from streamgauge.demo.history.time_grid import Floats, Grid, Mask

_LOOPING_SHARE: Final = 0.15
_HOUR: Final = 3600


def consumer_conditions(flow: ConsumerFlow) -> dict[Condition, Mask]:
    """The gravest first; where the consumer does not exist, none holds."""
    queue, plan = flow.queue, flow.plan
    found = {
        Condition.LOSING_MESSAGES: np.diff(queue.lost, prepend=0.0) > 0,
        Condition.ACK_PENDING_FULL: flow.ack_pending >= plan.max_ack_pending,
        Condition.REDELIVERY_LOOP: (queue.done > 0) & (plan.again > _LOOPING_SHARE),
        Condition.ACK_FLOOR_STUCK: _floor_stuck(flow),
        Condition.NOT_BOUND if plan.push else Condition.NO_WORKER_PULLS: (
            flow.away & (queue.pending > 0)
        ),
        Condition.FALLING_BEHIND: _growing(queue.pending, queue.done, flow.grid),
        **_of_shares(flow),
    }
    return {word: holds & flow.exists for word, holds in found.items()}


def verdicts(flow: ConsumerFlow, conditions: Mapping[Condition, Mask]) -> Floats:
    idle = (flow.queue.done == 0) & (flow.queue.pending == 0)
    judged = [(holds, verdict(((word, 0.0),), paused=False, idle=False))
              for word, holds in conditions.items() if word not in RATIOS]  # fmt: skip
    judged.append((idle, Verdict.IDLE))
    return np.select(
        [holds for holds, _ in judged], [int(name) for _, name in judged], int(Verdict.OK)
    ).astype(np.float64)


def _of_shares(flow: ConsumerFlow) -> dict[Condition, Mask]:
    plan, repeated = flow.plan, flow.repeated
    slow = plan.ack_seconds > thresholds.ACK_WAIT_RATIO.value * plan.ack_wait
    late = (repeated > 0) & (slow and not plan.given_up)  # those it gives up get naks
    many = flow.deliveries >= thresholds.DELIVERIES_LEAST.value
    again = repeated > thresholds.REDELIVERY_RATIO.value * flow.deliveries
    held = flow.ack_pending >= thresholds.ACK_PENDING_RATIO.value * plan.max_ack_pending
    return {
        Condition.HEADROOM_LOW: _unread_share(flow) > 1 - thresholds.RETENTION_HEADROOM_RATIO.value,
        Condition.MESSAGES_ABANDONED: flow.exhausted > 0,
        Condition.ACKS_LATE: late,
        Condition.REDELIVERY_HIGH: many & again & ~late,
        Condition.ACK_PENDING_HIGH: held,
    }


def _floor_stuck(flow: ConsumerFlow) -> Mask:
    plan = flow.plan
    if plan.stuck is None:
        return np.zeros(len(flow.grid), np.bool_)
    return flow.grid.since(plan.stuck - STUCK_ACK_WAITS * plan.ack_wait / 86_400)


def _unread_share(flow: ConsumerFlow) -> Floats:
    """Of the retention, by age and by size; streams that reject remove nothing."""
    stream = flow.stream
    unread = np.zeros(len(flow.grid))
    if stream.plan.retention != "limits" or stream.plan.discard == "new":
        return unread
    if stream.plan.max_age is not None:
        unread = np.maximum(unread, flow.lag / stream.plan.max_age)
    if stream.limit is not None:
        unread = np.maximum(unread, flow.pending / stream.limit)
    return unread


def _growing(pending: Floats, done: Floats, grid: Grid) -> Mask:
    """More pending than an hour ago, and more than the last step processed."""
    back = max(_HOUR // grid.step, 1)
    before = np.concatenate([np.full(back, np.inf), pending[:-back]])
    growing: Mask = (pending > before) & (pending > done)
    return growing
