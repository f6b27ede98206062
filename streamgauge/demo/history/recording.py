"""Records the series of every stream, consumer, server and account of the scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from exporter import catalog as c
from streamgauge.demo.history.accounts import AccountUse, record_accounts, record_exporter
from streamgauge.demo.history.consumer_flow import ConsumerFlow, consumer_flow
from streamgauge.demo.history.consumers import record_consumer
from streamgauge.demo.history.recorded_series import Recording, only
from streamgauge.demo.history.scenario import (
    ACCOUNTS,
    CONSUMERS,
    LEAKING_DAYS,
    SERVERS,
    STREAMS,
    SYSTEM,
    ConsumerPlan,
    Finding,
    StreamPlan,
)
from streamgauge.demo.history.servers import Holding, leaders, record_servers
from streamgauge.demo.history.stream_flow import StreamFlow, stream_flow
from streamgauge.demo.history.streams import record_stream
from streamgauge.demo.history.time_grid import Floats, Grid, Mask


def record(grid: Grid) -> Recording:
    recording = Recording(grid)
    flows = {plan.name: stream_flow(grid, plan, _readers(plan)) for plan in STREAMS}
    readers = [consumer_flow(flows[plan.stream], plan) for plan in CONSUMERS]
    for flow in flows.values():
        record_stream(recording, flow, _number(grid, flow, readers))
        _record_findings(recording, flow, readers)
    for reader in readers:
        record_consumer(recording, reader)
    record_servers(
        recording, [_holding(grid, place, flows, readers) for place in range(len(SERVERS))]
    )
    uses = {account: _use(grid, account, flows, readers) for account in ACCOUNTS}
    record_accounts(recording, uses)
    record_exporter(recording)
    return recording


def _readers(plan: StreamPlan) -> tuple[ConsumerPlan, ...]:
    return tuple(each for each in CONSUMERS if each.stream == plan.name)


def _number(grid: Grid, flow: StreamFlow, readers: Sequence[ConsumerFlow]) -> Floats:
    here = [reader.exists for reader in readers if reader.stream is flow]
    return np.sum(here, axis=0, dtype=np.float64) if here else np.zeros(len(grid))


def _record_findings(
    recording: Recording, flow: StreamFlow, readers: Sequence[ConsumerFlow]
) -> None:
    """How many assets fail each check: the stream and its consumers."""
    none = np.zeros(len(recording.grid))
    failing: dict[Finding, Floats] = dict.fromkeys(flow.plan.findings, none + 1)
    for reader in readers:
        for finding in reader.plan.findings if reader.stream is flow else ():
            failing[finding] = failing.get(finding, none) + reader.exists
    who = (SYSTEM, flow.plan.account, flow.plan.name)
    for finding, number in failing.items():
        recording.add(c.STREAM_CONFIG_FINDINGS, (*who, *finding), only(number > 0, number))


def _holding(
    grid: Grid, place: int, flows: Mapping[str, StreamFlow], readers: Sequence[ConsumerFlow]
) -> Holding:
    here = [f for f in flows.values() if f.plan.replicas > 1 or f.plan.leader == place]
    replicated = [reader for reader in readers if reader.stream.plan.replicas > 1]
    assets = [reader.exists for reader in replicated]
    streams = sum(flow.plan.replicas > 1 for flow in here)
    return Holding(
        storage=np.sum([flow.size for flow in here], axis=0),
        reserved=float(sum(flow.plan.max_bytes or 0 for flow in here)),
        assets=np.sum(assets, axis=0) + streams + 1.0,
        stream_leaders=np.sum([_led(grid, flow, place) for flow in flows.values()], axis=0),
        consumer_leaders=np.sum(
            [reader.exists & _led(grid, reader.stream, place) for reader in readers], axis=0
        ),
    )


def _led(grid: Grid, flow: StreamFlow, place: int) -> Mask:
    if flow.plan.replicas == 1:
        return np.full(len(grid), flow.plan.leader == place)
    led: Mask = leaders(grid, flow.plan.leader) == place
    return led


def _use(
    grid: Grid, account: str, flows: Mapping[str, StreamFlow], readers: Sequence[ConsumerFlow]
) -> AccountUse:
    mine = [flow for flow in flows.values() if flow.plan.account == account]
    my_readers = [reader for reader in readers if reader.stream.plan.account == account]
    leaked = sum(flow.plan.leak for flow in mine) * np.maximum(LEAKING_DAYS - grid.ago, 0.0)
    return AccountUse(
        storage=np.sum([flow.size * flow.plan.replicas for flow in mine], axis=0),
        reserved=float(sum((flow.plan.max_bytes or 0) * flow.plan.replicas for flow in mine)),
        streams=len(mine),
        consumers=np.sum([reader.exists for reader in my_readers], axis=0) + np.floor(leaked),
        exhausted=np.sum([reader.exhausted for reader in my_readers], axis=0),
    )
