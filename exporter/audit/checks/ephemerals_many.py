"""A hundred ephemeral consumers on one stream."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream

MANY = 100


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, _ in scene.streams:
        count = sum(not config.durable for _, config in scene.consumers_of(row))
        if count >= MANY:
            yield of_stream(row, f"{count:,} of {row.consumers:,} consumers are ephemeral")


CHECK = Check(
    code="ephemerals-many",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="Very many ephemeral consumers",
    meaning="The stream has a hundred or more ephemeral consumers.",
    condition="100 or more consumers without a durable name; ordered consumers are not counted.",
    why=(
        "Mostly a client makes a new one each time it reconnects; each costs about 50 kB of "
        "memory, and all of them together the stream's limit of consumers."
    ),
    remedy="Let clients keep and reuse their consumer, or use ordered ones for reading along.",
    commands=("nats consumer report STREAM",),
    find=find,
)
