"""The series of each consumer: position, problems, configuration, leader."""

from __future__ import annotations

from typing import Final

import numpy as np

from exporter import catalog as c
from streamgauge.demo.history.ack_times import record_ack_times
from streamgauge.demo.history.conditions import record_conditions
from streamgauge.demo.history.consumer_conditions import consumer_conditions, verdicts
from streamgauge.demo.history.consumer_flow import ConsumerFlow
from streamgauge.demo.history.recorded_series import Recording, only
from streamgauge.demo.history.scenario import SERVERS, SYSTEM
from streamgauge.demo.history.servers import leaders
from streamgauge.demo.history.time_grid import Floats, Grid, Mask, since_exporter_start, steps_at

_NO_METADATA: Final = ("",) * len(c.OWNER_LABELS[2:])
_CAUSES: Final = {"slow": 1, "poison": 4}


def record_consumer(recording: Recording, flow: ConsumerFlow) -> None:
    who = (SYSTEM, flow.stream.plan.account, flow.stream.plan.name, flow.plan.name)
    recording.add(c.CONSUMER_UP, who, only(_known(flow), flow.exists))
    _record_state(recording, flow, who)
    _record_problems(recording, flow, who)
    _record_configuration(recording, flow, who)
    _record_identity(recording, flow, who)
    if flow.plan.sampled:
        record_ack_times(recording, who, flow.deliveries, flow.plan.ack_seconds)


def _known(flow: ConsumerFlow) -> Mask:
    gone = flow.plan.removed
    return np.ones(len(flow.grid), np.bool_) if gone is None else ~flow.grid.since(gone)


def _record_state(recording: Recording, flow: ConsumerFlow, who: tuple[str, ...]) -> None:
    grid, plan = recording.grid, flow.plan
    deliveries = np.cumsum(flow.deliveries)
    if plan.recreated is not None and plan.recreated < grid.ago[0]:
        place = grid.place(plan.recreated)
        deliveries[place:] -= deliveries[place - 1]
    away, conditions = flow.away, consumer_conditions(flow)
    measured = [
        (c.CONSUMER_NUM_PENDING, flow.pending, 0),
        (c.CONSUMER_NUM_ACK_PENDING, flow.ack_pending, 0),
        (c.CONSUMER_NUM_WAITING, np.where(away | plan.push, 0, 4), 0),
        (c.CONSUMER_LAG_SECONDS, flow.lag, 1),
        (c.CONSUMER_DELIVERIES, 4e5 + deliveries if plan.recreated is None else deliveries, 0),
        (c.CONSUMER_DELIVERED_STREAM_SEQ, flow.delivered - flow.stream.origin, 0),
        (c.CONSUMER_ACK_FLOOR_GAP, flow.ack_pending, 0),
        (c.CONSUMER_ACK_FLOOR_GAP_DELIVERIES, flow.ack_pending, 0),
        (c.CONSUMER_ACK_FLOOR_STALLED_SECONDS, _stalled(grid, _stuck(flow)), 0),
        (c.CONSUMER_STALLED_SECONDS, _stalled(grid, (away | _stuck(flow)) & (flow.pending > 0)), 0),
        (c.CONSUMER_VERDICT, verdicts(flow, conditions), 0),
    ]
    if plan.push:
        measured.append((c.CONSUMER_PUSH_BOUND, ~away, 0))
    if flow.stream.plan.max_age is not None:
        headroom = flow.stream.plan.max_age - flow.lag
        behind = only(flow.lag > 0, headroom)
        measured.append((c.CONSUMER_RETENTION_HEADROOM_SECONDS, behind, 0))
    for metric, values, digits in measured:
        recording.add(metric, who, only(flow.exists, values), digits)
    record_conditions(
        recording, c.CONSUMER_CONDITION_START_TIMESTAMP_SECONDS, who, conditions.items()
    )


def _stuck(flow: ConsumerFlow) -> Mask:
    ago = flow.plan.stuck
    return np.zeros(len(flow.grid), np.bool_) if ago is None else flow.grid.since(ago)


def _stalled(grid: Grid, unchanged: Mask) -> Floats:
    """Seconds since the mask became true, where it is true."""
    last_well = np.maximum.accumulate(np.where(unchanged, -1, np.arange(len(grid))))
    return np.where(unchanged, (np.arange(len(grid)) - last_well) * grid.step, 0).astype(np.float64)


def _record_problems(recording: Recording, flow: ConsumerFlow, who: tuple[str, ...]) -> None:
    grid, plan = recording.grid, flow.plan
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(flow.deliveries > 0, flow.repeated / flow.deliveries, np.nan)
    retried = flow.exhausted + np.minimum(flow.repeated, flow.ack_pending)
    measured = [
        (c.CONSUMER_NUM_REDELIVERED, retried, 0),
        (c.CONSUMER_REDELIVERY_RATIO, ratio, 4),
        (c.CONSUMER_REDELIVERIES, since_exporter_start(grid, np.cumsum(flow.repeated)), 0),
        (c.CONSUMER_LOST_MESSAGES, since_exporter_start(grid, flow.queue.lost), 0),
        (c.CONSUMER_RECREATED,
         since_exporter_start(grid, steps_at(grid, plan.recreated)), 0),
    ]  # fmt: skip
    if plan.name in _CAUSES:
        measured.append((c.CONSUMER_REDELIVERY_CAUSE, np.full(len(grid), _CAUSES[plan.name]), 0))
    if plan.max_deliver is not None:
        measured.append((c.CONSUMER_EXHAUSTED_MESSAGES, flow.exhausted, 0))
    if plan.given_up:
        received = since_exporter_start(grid, flow.exhausted)
        naks = since_exporter_start(grid, np.floor(np.cumsum(flow.repeated) / 2))
        holds = np.ones(len(grid))
        measured += [
            (c.CONSUMER_EXHAUSTED, received, 0),
            (c.CONSUMER_NAKS, naks, 0),
            (c.CONSUMER_ACK_FLOOR_EXHAUSTED, holds, 0),
        ]
    for metric, values, digits in measured:
        recording.add(metric, who, only(flow.exists, values), digits)


def _record_configuration(recording: Recording, flow: ConsumerFlow, who: tuple[str, ...]) -> None:
    plan = flow.plan
    retries = None if plan.max_deliver is None else plan.ack_wait * (plan.max_deliver - 1)
    for metric, value in (
        (c.CONSUMER_MAX_ACK_PENDING, plan.max_ack_pending),
        (c.CONSUMER_ACK_WAIT_SECONDS, plan.ack_wait),
        (c.CONSUMER_MAX_DELIVER, plan.max_deliver),
        (c.CONSUMER_RETRY_HORIZON_SECONDS, retries),
    ):
        if value is not None:
            recording.add(metric, who, only(flow.exists, value))
    for check, severity in plan.findings:
        recording.add(c.CONSUMER_CONFIG_FINDING, (*who, check, severity), only(flow.exists, 1))


def _record_identity(recording: Recording, flow: ConsumerFlow, who: tuple[str, ...]) -> None:
    grid, stream = recording.grid, flow.stream.plan
    leading = leaders(grid, stream.leader) if stream.replicas > 1 else np.full(
        len(grid), float(stream.leader)
    )  # fmt: skip
    changes = np.cumsum(np.abs(np.sign(np.diff(leading, prepend=leading[0]))))
    recording.add(
        c.CONSUMER_LEADER_CHANGES, who, only(flow.exists, since_exporter_start(grid, changes))
    )
    for place, server in enumerate(SERVERS):
        labels = (flow.plan.name, "push" if flow.plan.push else "pull", "explicit", "all", "instant",
                  "false", "none", "false", server, str(stream.replicas), "", flow.plan.team,
                  *_NO_METADATA)  # fmt: skip
        led = flow.exists & (leading == place)
        recording.add(c.CONSUMER_INFO, (*who, *labels), only(led, 1))
