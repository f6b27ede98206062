"""A durable consumer delivers nothing."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.idle_time import consumer_idle_seconds
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity
from exporter.audit.units import DAY, duration

LONG_SECONDS = 30 * DAY


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.consumers:
        idle = consumer_idle_seconds(row, context.now)
        if config.durable and idle is not None and idle > LONG_SECONDS:
            verb = "no delivery for" if row.delivered_consumer_seq else "never delivered in"
            evidence = f"{verb} {duration(idle)}, {row.num_pending:,} pending"
            yield consumer_finding(row, evidence)


CHECK = Check(
    code="consumer-inactive",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="A durable consumer delivers nothing",
    meaning="The durable consumer has not delivered a message for 30 days.",
    condition=(
        "The consumer is durable, and its last delivery is more than 30 days ago. Or it never "
        "delivered a message and is older than 30 days."
    ),
    why=(
        "Its application may no longer exist. It still uses memory and disk on each replica. On "
        "interest and workqueue streams it prevents the removal of messages."
    ),
    remedy=(
        "Clarify with the owner, and delete the consumer if its position is no longer needed. "
        "Deleted consumers cannot be restored."
    ),
    commands=(
        "nats consumer info STREAM CONSUMER",
        "nats consumer rm STREAM CONSUMER",
    ),
    find=find,
)
