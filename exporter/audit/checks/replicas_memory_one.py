"""One replica in memory."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        if config.storage == "memory" and config.replicas == 1:
            yield stream_finding(row, f"memory, 1 replica, {row.messages:,} messages")


CHECK = Check(
    code="replicas-memory-one",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="One replica in memory",
    meaning="The only replica of the stream is in the memory of one server.",
    condition="The storage is memory and there is one replica.",
    why="Every restart of this server loses all messages, and consumers start again.",
    remedy=(
        "Use more replicas in a cluster. File storage needs a new stream, because the storage "
        "type cannot be changed."
    ),
    commands=("nats stream edit STREAM --replicas 3",),
    find=find,
)
