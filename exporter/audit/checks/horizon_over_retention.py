"""Redeliveries take longer than the retention."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity
from exporter.audit.units import duration


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.acking_consumers:
        found, horizon = context.stream_of(row), config.retry_horizon_seconds
        if found is None or horizon is None or config.ack_wait_seconds is None:
            continue
        max_age = found[1].max_age_seconds
        needed = horizon + config.ack_wait_seconds
        if max_age is not None and needed > max_age:
            yield consumer_finding(
                row, f"redeliveries take {duration(needed)}, max_age {duration(max_age)}"
            )


CHECK = Check(
    code="horizon-over-retention",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="Redeliveries take longer than the retention",
    meaning="The stream removes a message before its last delivery.",
    condition=(
        "The stream has a max_age, max_deliver is finite, and the waits before the last delivery "
        "plus ack_wait exceed max_age."
    ),
    why=(
        "A message that keeps failing expires before it reaches max_deliver. The server sends no "
        "MAX_DELIVERIES advisory for it."
    ),
    remedy=(
        "Keep messages longer, or lower max_deliver: messages that were already delivered N times "
        "are not delivered again. A max_age below the current one deletes what exceeds it."
    ),
    commands=(
        "nats stream edit STREAM --max-age LONGER_AGE",
        "nats consumer edit STREAM CONSUMER --max-deliver N",
    ),
    find=find,
)
