"""A message is delivered only once."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity
from exporter.audit.units import duration


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.acking_consumers:
        if config.max_deliver == 1:
            yield consumer_finding(
                row, f"max_deliver 1, ack_wait {duration(config.ack_wait_seconds or 0)}"
            )


CHECK = Check(
    code="max-deliver-one",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="A message is delivered only once",
    meaning="If a worker crashes or acknowledges too late, its message is not redelivered.",
    condition="The consumer requires acks and max_deliver is 1.",
    why=(
        "Every crash, deployment or lost ack loses a message. On workqueue and interest streams, "
        "such messages stay in the stream."
    ),
    remedy=(
        "Allow more deliveries, unless you want at-most-once delivery. In that case, ack policy "
        "none costs less."
    ),
    commands=("nats consumer edit STREAM CONSUMER --max-deliver 5",),
    find=find,
)
