"""Workers wait for each other's acknowledgements."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext, consumer_key
from exporter.audit.findings import of_consumer

FULL = 0.8
# A smaller one is chosen for order and full by design.
LEAST = 10


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.acking_consumers:
        limit = config.max_ack_pending
        if limit is None:
            continue
        usual = scene.history.p95_ack_pending(consumer_key(row)) if scene.history else None
        if config.max_batch is not None and limit < config.max_batch:
            yield of_consumer(row, f"max_ack_pending {limit:,}, max_batch {config.max_batch:,}")
        elif limit >= LEAST and usual is not None and usual >= FULL * limit:
            yield of_consumer(row, f"max_ack_pending {limit:,}, the week's p95 was {usual:,.0f}")


CHECK = Check(
    code="max-ack-pending-low",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="max_ack_pending is low",
    meaning="So few messages may be in flight that workers wait although there is work.",
    condition=(
        "max_ack_pending is below the max_batch of the consumer, or, where it is 10 or more, "
        "the week's p95 of messages in flight reached 80 % of it."
    ),
    why="A request can never be filled, or the backlog grows although workers have time.",
    remedy="Raise the limit, unless it is small to keep messages in order.",
    commands=("nats consumer edit STREAM CONSUMER --max-pending HIGHER",),
    find=find,
)
