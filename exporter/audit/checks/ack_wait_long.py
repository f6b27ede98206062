"""ack_wait is long."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.ack_times import p99_ack_time
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity
from exporter.audit.units import MINUTE, duration

LONG_SECONDS = 30 * MINUTE
# A shorter ack_wait is never reported as long.
MIN_SECONDS = 2 * MINUTE
TIMES = 10


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.acking_consumers:
        wait = config.ack_wait_seconds
        if wait is None or config.backoff_seconds:
            continue
        if wait >= LONG_SECONDS:
            yield consumer_finding(row, f"ack_wait {duration(wait)}")
            continue
        taken = p99_ack_time(context, row) if wait > MIN_SECONDS else None
        if taken is not None and wait > TIMES * taken.high:
            yield consumer_finding(row, f"ack_wait {duration(wait)}; {taken.text}")


CHECK = Check(
    code="ack-wait-long",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="ack_wait is long",
    meaning="If a worker dies, its messages wait long for redelivery.",
    condition=(
        "ack_wait is 30 min or longer, or above 2 min and above ten times the p99 of the time to "
        "ack."
    ),
    why=(
        "After each crash or deployment, messages in flight and the ack floor do not move for "
        "this time."
    ),
    remedy=(
        "Set ack_wait to a few times the slowest normal processing time. Workers with longer jobs "
        "can send in-progress acks. A message that takes longer than ack_wait is processed twice."
    ),
    commands=("nats consumer edit STREAM CONSUMER --wait SHORTER",),
    find=find,
)
