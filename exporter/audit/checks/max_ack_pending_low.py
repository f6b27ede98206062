"""max_ack_pending is low."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext, consumer_key
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity

FULL = 0.8
# A smaller limit is usually set to keep messages in order.
LEAST = 10


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.acking_consumers:
        limit = config.max_ack_pending
        if limit is None:
            continue
        usual = context.history.p95_ack_pending(consumer_key(row)) if context.history else None
        if config.max_batch is not None and limit < config.max_batch:
            yield consumer_finding(
                row, f"max_ack_pending {limit:,}, max_batch {config.max_batch:,}"
            )
        elif limit >= LEAST and usual is not None and usual >= FULL * limit:
            yield consumer_finding(row, f"max_ack_pending {limit:,}, p95 of the week {usual:,.0f}")


CHECK = Check(
    code="max-ack-pending-low",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="max_ack_pending is low",
    meaning="So few messages may be in flight that workers wait although messages are pending.",
    condition=(
        "max_ack_pending is below the consumer's max_batch. Or it is 10 or more, and the week's "
        "p95 of messages in flight reached 80 % of it."
    ),
    why="A pull request is never filled, or the backlog grows although workers are idle.",
    remedy="Raise the limit, unless it is low to keep messages in order.",
    commands=("nats consumer edit STREAM CONSUMER --max-pending HIGHER",),
    find=find,
)
