"""The series of each stream: contents, limits, publishes, changes, replicas."""

from __future__ import annotations

from typing import Final

import numpy as np

from alerts import thresholds
from exporter import catalog as c
from exporter.signals.conditions import streams
from streamgauge.demo.history.conditions import record_conditions
from streamgauge.demo.history.recorded_series import Recording, only
from streamgauge.demo.history.scenario import CONSUMERS, LEAKING_DAYS, SERVERS, SYSTEM, StreamPlan
from streamgauge.demo.history.servers import is_down, leaders
from streamgauge.demo.history.stream_flow import StreamFlow
from streamgauge.demo.history.time_grid import (
    Floats,
    Grid,
    Mask,
    chance,
    since_exporter_start,
    steps_at,
)

_NO_METADATA: Final = ("",) * len((*c.OWNER_LABELS[2:], *c.WRITER_LABELS))
_FULL: Final = "10077"  # the server's code for: maximum messages or bytes exceeded


def record_stream(recording: Recording, flow: StreamFlow, consumers: Floats) -> None:
    grid, plan = recording.grid, flow.plan
    who = (SYSTEM, plan.account, plan.name)
    leading = leaders(grid, plan.leader)
    down = is_down(grid, SERVERS[plan.leader]) if plan.replicas == 1 else np.zeros(len(grid), bool)
    recording.add(c.STREAM_UP, who, ~down)
    record_conditions(
        recording, c.STREAM_CONDITION_START_TIMESTAMP_SECONDS, who, _conditions(flow, down).items()
    )
    ephemeral = np.floor(plan.leak * np.maximum(LEAKING_DAYS - grid.ago, 0.0))
    last = flow.total - flow.origin
    first = flow.floor - flow.origin + 1
    measured = (
        (c.STREAM_MESSAGES, flow.messages),
        (c.STREAM_BYTES, flow.size),
        (c.STREAM_SUBJECTS, plan.subjects),
        (c.STREAM_CONSUMERS, consumers + ephemeral),
        (c.STREAM_EPHEMERAL_CONSUMERS, ephemeral),
        (c.STREAM_DELETED_MESSAGES, np.maximum(last - first + 1 - flow.messages, 0)),
        (c.STREAM_LOST_MESSAGES, 0),
        (c.STREAM_FIRST_SEQ, first),
        (c.STREAM_STORED_MESSAGES, last),
        (c.STREAM_FIRST_TIMESTAMP_SECONDS, flow.stored_at(flow.floor + 1)),
        (c.STREAM_LAST_TIMESTAMP_SECONDS, flow.last_stored),
    )
    for metric, values in measured:
        recording.add(metric, who, only(~down, values))
    _record_configuration(recording, flow, who)
    _record_publishes(recording, flow, who)
    _record_changes(recording, flow, who, leading)
    _record_replicas(recording, plan, who, leading)


def _conditions(flow: StreamFlow, down: Mask) -> dict[str, Mask]:
    """One server is down at a time, so a replica is offline and the next failure costs the quorum."""
    grid, plan = flow.grid, flow.plan
    found: dict[str, Mask] = {streams.NO_LEADER: down}
    if plan.discard == "new" and flow.limit is not None:
        fill = flow.messages / flow.limit
        full = fill >= thresholds.STREAM_FULL_RATIO.value
        found |= {streams.FULL: full, streams.FILLING: _filling(grid, fill) & ~full}
    if plan.replicas > 1:
        lacking: Mask = np.any([is_down(grid, server) for server in SERVERS], axis=0)
        found |= {streams.REPLICA_OFFLINE: lacking, streams.QUORUM_AT_RISK: lacking}
    return found


def _filling(grid: Grid, fill: Floats) -> Mask:
    """Full within the horizon, by the growth of the same time before."""
    back = max(round(thresholds.STREAM_FILLING_HORIZON.value / grid.step), 1)
    before = np.concatenate([np.full(back, np.inf), fill[:-back]])
    growing: Mask = (fill > thresholds.STREAM_FILLING_RATIO.value) & (2 * fill - before >= 1.0)
    return growing


def _record_configuration(recording: Recording, flow: StreamFlow, who: tuple[str, ...]) -> None:
    plan, limit = flow.plan, flow.limit
    for metric, value in (
        (c.STREAM_MAX_BYTES, plan.max_bytes),
        (c.STREAM_MAX_MESSAGES, limit if plan.max_messages else None),
        (c.STREAM_MAX_AGE_SECONDS, plan.max_age),
        (c.STREAM_MAX_MESSAGES_PER_SUBJECT, plan.per_subject),
        (c.STREAM_DUPLICATE_WINDOW_SECONDS, plan.window),
        (c.STREAM_REPLICAS, plan.replicas),
    ):
        if value is not None:
            recording.add(metric, who, value)
    if limit is not None:
        kind = "bytes" if plan.max_bytes else "messages"
        recording.add(c.STREAM_FILL_RATIO, (*who, kind), flow.messages / limit, 4)
    if plan.max_age is not None:
        age = recording.grid.times - flow.stored_at(flow.floor + 1)
        recording.add(c.STREAM_FILL_RATIO, (*who, "age"), np.clip(age / plan.max_age, 0, 1), 4)


def _record_publishes(recording: Recording, flow: StreamFlow, who: tuple[str, ...]) -> None:
    grid, plan = recording.grid, flow.plan
    repeated = chance(plan.name + "/copies").poisson(flow.sent * plan.copies)
    copies = np.cumsum(repeated, dtype=np.float64)
    window = max(round(plan.window / grid.step), 1)
    within = np.convolve(flow.stored, np.ones(window))[: len(grid)] * plan.window / grid.step
    for metric, values in (
        (c.STREAM_PUBLISHES_RECEIVED, since_exporter_start(grid, np.cumsum(flow.sent) + copies)),
        (c.STREAM_PUBLISHES_UNSTORED, since_exporter_start(grid, copies + flow.rejected)),
        (c.STREAM_DEDUPE_HITS, since_exporter_start(grid, copies)),
        (c.STREAM_DEDUPE_EXACT, 1),
        (c.STREAM_DEDUPE_WINDOW_MESSAGES, within / window),
    ):
        recording.add(metric, who, values)
    rejected = since_exporter_start(grid, flow.rejected)
    recording.add(c.STREAM_PUBLISH_REJECTIONS, (*who, _FULL), only(rejected > 0, rejected))


def _record_changes(
    recording: Recording, flow: StreamFlow, who: tuple[str, ...], leading: Floats
) -> None:
    grid, plan = recording.grid, flow.plan
    changes = np.cumsum(np.abs(np.sign(np.diff(leading, prepend=leading[0]))))
    removed = [reader.removed for reader in CONSUMERS if reader.stream == plan.name]
    purged = np.sum([steps_at(grid, ago) * amount for ago, amount in plan.purged], axis=0)
    counted = (
        (c.STREAM_SEQUENCE_REGRESSIONS, np.zeros(len(grid))),
        (c.STREAM_RECREATED, steps_at(grid, plan.recreated)),
        (c.STREAM_LEADER_CHANGES, changes if plan.replicas > 1 else np.zeros(len(grid))),
        (c.STREAM_CONSUMERS_REMOVED, steps_at(grid, *removed)),
        (c.STREAM_PURGED_MESSAGES, np.zeros(len(grid)) + purged),
    )
    for metric, values in counted:
        recording.add(metric, who, since_exporter_start(grid, values))
    restored = since_exporter_start(grid, steps_at(grid, plan.restored))
    recording.add(c.STREAM_RESTORES, who, only(restored > 0, restored))


def _record_replicas(
    recording: Recording, plan: StreamPlan, who: tuple[str, ...], leading: Floats
) -> None:
    grid = recording.grid
    kind = "kv" if plan.name.startswith("KV_") else "stream"
    for place, server in enumerate(SERVERS):
        led = leading == place if plan.replicas > 1 else np.full(len(grid), place == plan.leader)
        labels = (plan.retention, plan.discard, "file", "none", kind, server,
                  f"S-R{plan.replicas}F-{plan.name[:4]}", str(plan.replicas), "", plan.owner, plan.team,
                  *_NO_METADATA)  # fmt: skip
        recording.add(c.STREAM_INFO, (*who, *labels), only(led, 1))
        if plan.replicas > 1:
            follows, down = ~led, is_down(grid, server)
            recording.add(c.STREAM_REPLICA_OFFLINE, (*who, server), only(follows, down))
            behind = np.where(down, 400, 0)
            recording.add(c.STREAM_REPLICA_LAG, (*who, server), only(follows, behind))
