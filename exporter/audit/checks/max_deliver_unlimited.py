"""Deliveries of a message are not limited."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.acking_consumers:
        if config.max_deliver is None:
            yield consumer_finding(
                row, f"max_deliver -1, {row.num_redelivered:,} messages redelivered"
            )


CHECK = Check(
    code="max-deliver-unlimited",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="Deliveries of a message are not limited",
    meaning="A message that no worker can process is redelivered without limit.",
    condition="The consumer requires acks and max_deliver is -1.",
    why=(
        "One message that always fails uses a slot of max_ack_pending and worker time "
        "permanently. On workqueue and interest streams it is never removed."
    ),
    remedy=(
        "First store the MAX_DELIVERIES advisories in a stream, so that failed messages are not "
        "forgotten. Then set a limit that outlasts your longest outage, with a backoff. Messages "
        "that were already delivered N times are not delivered again. FIRST replaces ack_wait, so "
        "it must not be shorter than the processing time. N must be above STEPS."
    ),
    commands=(
        "nats stream add DEAD_LETTERS --subjects '$JS.EVENT.ADVISORY.*.MAX_DELIVERIES.>' --max-age 30d --defaults",
        "nats consumer edit STREAM CONSUMER --max-deliver N --backoff linear --backoff-steps STEPS --backoff-min FIRST --backoff-max LAST",
    ),
    default=True,
    find=find,
)
