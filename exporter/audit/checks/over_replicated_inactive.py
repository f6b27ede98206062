"""Several copies of a stream that gets no messages."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.idle_time import stored_nothing_for
from exporter.audit.findings import of_stream
from exporter.audit.units import DAY, size, span

LONG_SECONDS = 30 * DAY
COPIES = 3


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        if config.kind != "stream" or config.mirror or config.sealed:
            continue
        idle = stored_nothing_for(row, scene.now)
        if config.replicas >= COPIES and idle is not None and idle > LONG_SECONDS:
            held = size(row.bytes * config.replicas)
            yield of_stream(
                row, f"{config.replicas} replicas, {held} in all, nothing stored for {span(idle)}"
            )


CHECK = Check(
    code="over-replicated-inactive",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="Several copies of a stream at rest",
    meaning="A stream that has got nothing for 30 days has three or more copies.",
    condition=(
        "Three or more replicas and no message stored for 30 days; buckets, object stores, "
        "mirrors and sealed streams are left out."
    ),
    why="Each copy takes disk, and a Raft group that is kept alive costs every server heartbeats.",
    remedy="Keep a backup and fewer copies; one copy is lost with its disk.",
    commands=(
        "nats stream backup STREAM DIRECTORY",
        "nats stream edit STREAM --replicas FEWER",
    ),
    find=find,
)
