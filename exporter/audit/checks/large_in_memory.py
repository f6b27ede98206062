"""A stream that takes much memory."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream
from exporter.audit.units import MIB, size, some

LARGE_BYTES = 100 * MIB


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        if config.storage == "memory" and row.bytes > LARGE_BYTES:
            yield of_stream(
                row, f"{size(row.bytes)} in the memory of {some(config.replicas, 'server')}"
            )


CHECK = Check(
    code="large-in-memory",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="A large stream in memory",
    meaning="A stream in memory holds more than 100 MiB.",
    condition="Memory storage and more than 100 MiB.",
    why=(
        "It takes that much memory on each of its servers, and a server that restarts has to "
        "get all of it again or loses it."
    ),
    remedy=(
        "Use file storage: the disk cache of the system makes that nearly as fast. The storage "
        "cannot be changed, so the messages have to be copied. Or limit it: a limit deletes what "
        "exceeds it, the oldest first."
    ),
    commands=(
        "nats stream add NEW_STREAM --source STREAM --storage file --defaults",
        "nats stream edit STREAM --max-bytes BYTES",
    ),
    find=find,
)
