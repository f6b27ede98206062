"""The only copy is in memory."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        if config.storage == "memory" and config.replicas == 1:
            yield of_stream(row, f"memory, 1 replica, {row.messages:,} messages")


CHECK = Check(
    code="replicas-memory-one",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="In memory on one server",
    meaning="The only copy of the stream is in the memory of one server.",
    condition="The storage is memory and there is one replica.",
    why="Every restart of that server loses all messages, and consumers begin anew.",
    remedy=(
        "Use more replicas where there is a cluster; file storage needs a new stream, for the "
        "storage cannot be changed."
    ),
    commands=("nats stream edit STREAM --replicas 3",),
    find=find,
)
