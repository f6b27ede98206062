"""Very many ephemeral consumers."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity

MANY = 100


def find(context: AuditContext) -> Iterator[Finding]:
    for row, _ in context.streams:
        count = len(context.ephemerals_of(row))
        if count >= MANY:
            yield stream_finding(row, f"{count:,} of {row.consumers:,} consumers are ephemeral")


CHECK = Check(
    code="ephemerals-many",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="Very many ephemeral consumers",
    meaning="The stream has 100 or more ephemeral consumers.",
    condition="100 or more consumers without a durable name. Ordered consumers are not counted.",
    why=(
        "A client probably creates a new consumer with each reconnect. Each uses about 50 kB of "
        "memory and counts towards the stream's limit of consumers."
    ),
    remedy="Let clients reuse their consumer, or use ordered consumers for reading only.",
    commands=("nats consumer report STREAM",),
    find=find,
)
