"""Messages expire before their first redelivery."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity
from exporter.audit.units import duration


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.acking_consumers:
        found = context.stream_of(row)
        # horizon-over-retention covers a finite max_deliver.
        if found is None or config.max_deliver is not None:
            continue
        max_age = found[1].max_age_seconds
        wait = config.backoff_seconds[0] if config.backoff_seconds else config.ack_wait_seconds
        if max_age is not None and wait is not None and wait >= max_age:
            yield consumer_finding(
                row, f"first redelivery after {duration(wait)}, max_age {duration(max_age)}"
            )


CHECK = Check(
    code="ack-wait-over-retention",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="Messages expire before their first redelivery",
    meaning="The stream removes a message before it can be delivered a second time.",
    condition=(
        "max_deliver is -1, the stream has a max_age, and ack_wait or the first backoff step is "
        "at least max_age."
    ),
    why="A message in flight is lost when its worker dies, although deliveries are not limited.",
    remedy=(
        "Set max_age to several times ack_wait, or lower ack_wait, but not below the slowest "
        "normal processing time. A max_age below the current one deletes what exceeds it."
    ),
    commands=(
        "nats stream edit STREAM --max-age LONGER_AGE",
        "nats consumer edit STREAM CONSUMER --wait SHORTER",
    ),
    find=find,
)
