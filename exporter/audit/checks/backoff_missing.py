"""Redeliveries without a backoff."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity
from exporter.audit.units import duration

FEW = 3


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.acking_consumers:
        if not config.backoff_seconds and (config.max_deliver is None or config.max_deliver > FEW):
            limit = "-1" if config.max_deliver is None else f"{config.max_deliver:,}"
            wait = duration(config.ack_wait_seconds or 0)
            yield consumer_finding(row, f"max_deliver {limit}, no backoff, ack_wait {wait}")


CHECK = Check(
    code="backoff-missing",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="Redeliveries without a backoff",
    meaning="Every redelivery comes after the same ack_wait.",
    condition="The consumer requires acks, there is no backoff, and max_deliver is -1 or above 3.",
    why=(
        "All deliveries are used up during a short outage, or they overload a service that "
        "recovers."
    ),
    remedy=(
        "Set a backoff. FIRST replaces ack_wait, so it must not be shorter than the processing "
        "time. N must be above STEPS and at least the current max_deliver. Messages that were "
        "already delivered N times are not delivered again."
    ),
    commands=(
        "nats consumer edit STREAM CONSUMER --max-deliver N --backoff linear --backoff-steps STEPS --backoff-min FIRST --backoff-max LAST",
    ),
    default=True,
    find=find,
)
