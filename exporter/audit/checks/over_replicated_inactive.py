"""An idle stream has several replicas."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.idle_time import stream_idle_seconds
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import DAY, duration, size

LONG_SECONDS = 30 * DAY
COPIES = 3


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        if config.kind != "stream" or config.mirror or config.sealed:
            continue
        idle = stream_idle_seconds(row, context.now)
        if config.replicas >= COPIES and idle is not None and idle > LONG_SECONDS:
            held = size(row.bytes * config.replicas)
            yield stream_finding(
                row,
                f"{config.replicas} replicas, {held} in total, nothing stored for {duration(idle)}",
            )


CHECK = Check(
    code="over-replicated-inactive",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="An idle stream has several replicas",
    meaning="A stream that stored nothing for 30 days has three or more replicas.",
    condition=(
        "Three or more replicas and no message stored for 30 days. Buckets, object stores, "
        "mirrors and sealed streams are exempt."
    ),
    why="Each replica uses disk, and its Raft group sends heartbeats.",
    remedy="Create a backup and use fewer replicas. A single replica is lost with its disk.",
    commands=(
        "nats stream backup STREAM DIRECTORY",
        "nats stream edit STREAM --replicas FEWER",
    ),
    find=find,
)
