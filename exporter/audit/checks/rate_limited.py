"""The server sends no faster than a limit of bits per second."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_consumer


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.consumers:
        if config.rate_limit_bits is not None:
            evidence = f"{config.rate_limit_bits:,} bits per second, {row.num_pending:,} waiting"
            yield of_consumer(row, evidence)


CHECK = Check(
    code="rate-limited",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="Deliveries are limited in bits per second",
    meaning="The server sends to this push consumer no faster than its rate limit.",
    condition="A rate limit is set.",
    why=(
        "A backlog drains no faster than this; when the stream grows, what was enough once "
        "makes the consumer fall behind."
    ),
    remedy=(
        "Make sure that the limit is still well above what is published; it is changed with a "
        "file that holds the whole configuration."
    ),
    commands=(
        "nats consumer info STREAM CONSUMER --json",
        "nats consumer edit STREAM CONSUMER --config FILE",
    ),
    find=find,
)
