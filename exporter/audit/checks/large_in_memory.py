"""A large stream in memory."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import MIB, plural, size

LARGE_BYTES = 100 * MIB


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        if config.storage == "memory" and row.bytes > LARGE_BYTES:
            yield stream_finding(
                row, f"{size(row.bytes)} in memory, {plural(config.replicas, 'replica')}"
            )


CHECK = Check(
    code="large-in-memory",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="A large stream in memory",
    meaning="A stream with memory storage holds more than 100 MiB.",
    condition="Memory storage and more than 100 MiB.",
    why=(
        "It uses this memory on each replica. After a restart, a server has to copy all of it "
        "again or loses it."
    ),
    remedy=(
        "Use file storage: with the page cache of the system it is nearly as fast. The storage "
        "type cannot be changed, so the messages have to be copied. Or set a limit: it deletes "
        "what exceeds it, the oldest messages first."
    ),
    commands=(
        "nats stream add NEW_STREAM --source STREAM --storage file --defaults",
        "nats stream edit STREAM --max-bytes BYTES",
    ),
    find=find,
)
