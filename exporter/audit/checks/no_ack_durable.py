"""A durable consumer that counts a message as done when it is sent."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_consumer


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.consumers:
        if config.durable and config.ack_policy == "none":
            yield of_consumer(row, f"ack policy none, {row.delivered_consumer_seq:,} sent so far")


CHECK = Check(
    code="no-ack-durable",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="A durable consumer without acknowledgements",
    meaning="A message counts as done as soon as it is sent, whether anybody received it or not.",
    condition="The consumer is durable and its ack policy is none.",
    why="What a client had received and not finished when it died is not delivered again.",
    remedy=(
        "If each message matters, make a consumer with explicit acknowledgements; the policy of "
        "an existing one cannot be changed."
    ),
    commands=(
        "nats consumer add STREAM NEW_CONSUMER --pull --ack explicit --deliver SEQUENCE --defaults",
    ),
    find=find,
)
