"""A durable consumer without acks."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.consumers:
        if config.durable and config.ack_policy == "none":
            yield consumer_finding(
                row, f"ack policy none, {row.delivered_consumer_seq:,} delivered"
            )


CHECK = Check(
    code="no-ack-durable",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="A durable consumer without acks",
    meaning="A message counts as processed when it is sent, even if no client received it.",
    condition="The consumer is durable and its ack policy is none.",
    why="Messages that a client received but did not process before a crash are not redelivered.",
    remedy=(
        "If messages must not be lost, create a consumer with ack policy explicit. The policy of "
        "a consumer cannot be changed."
    ),
    commands=(
        "nats consumer add STREAM NEW_CONSUMER --pull --ack explicit --deliver SEQUENCE --defaults",
    ),
    find=find,
)
