"""Only the leader serves reads of single messages."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        if config.replicas > 1 and not config.allow_direct and not config.mirror:
            yield stream_finding(row, f"{config.replicas} replicas, allow_direct false")


CHECK = Check(
    code="direct-get-off",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="Only the leader serves reads of single messages",
    meaning="All reads of single messages go to the leader, although there are other replicas.",
    condition="More than one replica, allow_direct is false, and the stream is not a mirror.",
    why="Reads load only the leader and fail while there is no leader.",
    remedy="Enable direct get, if readers accept a replica that is slightly behind.",
    commands=("nats stream edit STREAM --allow-direct",),
    default=True,
    find=find,
)
