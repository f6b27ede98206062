"""Far more messages may be in flight than ever are."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext, consumer_key
from exporter.audit.findings import of_consumer

HIGH = 10_000
ORDINARY = 1_000
TIMES = 10


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.acking_consumers:
        limit = config.max_ack_pending
        if limit is None or limit <= ORDINARY:
            continue
        peak = scene.history.peak_ack_pending(consumer_key(row)) if scene.history else None
        if limit > HIGH:
            yield of_consumer(
                row, f"max_ack_pending {limit:,}, {row.num_ack_pending:,} in flight now"
            )
        elif peak and limit > TIMES * peak:
            yield of_consumer(row, f"max_ack_pending {limit:,}, the week's peak was {peak:,.0f}")


CHECK = Check(
    code="max-ack-pending-high",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="max_ack_pending is high",
    meaning="Far more messages may be in flight than the workers ever use.",
    condition=(
        "max_ack_pending is above 10,000, or above 1,000 and above ten times the week's peak."
    ),
    why=(
        "The limit no longer protects: when workers hang, that many messages are given out and "
        "delivered again later."
    ),
    remedy=(
        "Set it to a few times the peak; below what is in flight now the consumer stands still "
        "until enough is acknowledged."
    ),
    commands=("nats consumer edit STREAM CONSUMER --max-pending LOWER",),
    find=find,
)
