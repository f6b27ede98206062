"""Deliveries are limited in bits per second."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.consumers:
        if config.rate_limit_bits is not None:
            evidence = f"{config.rate_limit_bits:,} bits per second, {row.num_pending:,} pending"
            yield consumer_finding(row, evidence)


CHECK = Check(
    code="rate-limited",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="Deliveries are limited in bits per second",
    meaning="The server delivers to this push consumer no faster than its rate limit.",
    condition="A rate limit is set.",
    why=(
        "A backlog cannot drain faster than this limit. When the publish rate grows, the consumer "
        "falls behind."
    ),
    remedy=(
        "Make sure that the limit is well above the publish rate. To change it, use a file with "
        "the whole configuration."
    ),
    commands=(
        "nats consumer info STREAM CONSUMER --json",
        "nats consumer edit STREAM CONSUMER --config FILE",
    ),
    find=find,
)
