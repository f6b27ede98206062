"""max_ack_pending is high."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext, consumer_key
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity

HIGH = 10_000
ORDINARY = 1_000
TIMES = 10


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.acking_consumers:
        limit = config.max_ack_pending
        if limit is None or limit <= ORDINARY:
            continue
        peak = context.history.peak_ack_pending(consumer_key(row)) if context.history else None
        if limit > HIGH:
            yield consumer_finding(
                row, f"max_ack_pending {limit:,}, {row.num_ack_pending:,} in flight"
            )
        elif peak and limit > TIMES * peak:
            yield consumer_finding(row, f"max_ack_pending {limit:,}, peak of the week {peak:,.0f}")


CHECK = Check(
    code="max-ack-pending-high",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="max_ack_pending is high",
    meaning="max_ack_pending is far above the number of messages in flight.",
    condition=(
        "max_ack_pending is above 10,000, or above 1,000 and above ten times the week's peak."
    ),
    why=(
        "The limit gives no protection: if workers hang, this many messages are delivered and "
        "later redelivered."
    ),
    remedy=(
        "Set it to a few times the peak. Below the current number of messages in flight, the "
        "consumer delivers nothing until enough are acknowledged."
    ),
    commands=("nats consumer edit STREAM CONSUMER --max-pending LOWER",),
    find=find,
)
