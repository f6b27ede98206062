"""A message is given out once, and then never again."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_consumer
from exporter.audit.units import span


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.acking_consumers:
        if config.max_deliver == 1:
            yield of_consumer(row, f"max_deliver 1, ack_wait {span(config.ack_wait_seconds or 0)}")


CHECK = Check(
    code="max-deliver-one",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="A message is delivered only once",
    meaning="A message whose worker crashes or answers too late is not given to anybody else.",
    condition="The consumer wants acknowledgements and max_deliver is 1.",
    why=(
        "Every crash, deployment or lost acknowledgement abandons a message, and on workqueue "
        "and interest streams what is abandoned stays in the stream."
    ),
    remedy=(
        "Unless at-most-once is meant, allow more deliveries; if it is meant, ack policy none "
        "says so and costs less."
    ),
    commands=("nats consumer edit STREAM CONSUMER --max-deliver 5",),
    find=find,
)
