"""The consumer is paused for a long time."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity
from exporter.audit.units import DAY, duration

LONG_SECONDS = 7 * DAY


def find(context: AuditContext) -> Iterator[Finding]:
    for row, _ in context.consumers:
        left = row.pause_remaining_seconds
        if row.paused and left is not None and left > LONG_SECONDS:
            yield consumer_finding(
                row, f"paused for another {duration(left)}, {row.num_pending:,} pending"
            )


CHECK = Check(
    code="pause-long",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="The consumer is paused for a long time",
    meaning="The consumer is paused and does not resume within a week.",
    condition="The consumer is paused and more than 7 days of the pause remain.",
    why=(
        "A forgotten pause looks like an idle consumer. Meanwhile retention removes undelivered "
        "messages."
    ),
    remedy="Resume the consumer when the reason for the pause is gone.",
    commands=("nats consumer resume STREAM CONSUMER",),
    since="2.11",
    find=find,
)
