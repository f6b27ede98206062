"""Messages in flight are not limited."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.acking_consumers:
        if config.max_ack_pending is None:
            yield consumer_finding(row, f"max_ack_pending -1, {row.num_ack_pending:,} in flight")


CHECK = Check(
    code="max-ack-pending-unlimited",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="Messages in flight are not limited",
    meaning="The server delivers messages without waiting for acks.",
    condition="The consumer requires acks and max_ack_pending is -1.",
    why=(
        "A slow or broken worker receives the whole backlog. The server tracks each of these "
        "messages in memory and on every replica, and redelivers all after ack_wait."
    ),
    remedy=(
        "Set a limit of a few times the messages that all workers process at once. Below the "
        "current number of messages in flight, the consumer delivers nothing until enough are "
        "acknowledged."
    ),
    commands=("nats consumer edit STREAM CONSUMER --max-pending LIMIT",),
    find=find,
)
