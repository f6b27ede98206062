"""The backoff has no end."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity
from exporter.audit.units import duration, plural


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.acking_consumers:
        if config.backoff_seconds and config.max_deliver is None:
            last = duration(config.backoff_seconds[-1])
            steps = plural(len(config.backoff_seconds), "step")
            yield consumer_finding(row, f"backoff of {steps}, then every {last} without limit")


CHECK = Check(
    code="backoff-endless",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="The backoff has no end",
    meaning="The last step of the backoff repeats without limit, because max_deliver is -1.",
    condition="There is a backoff and max_deliver is -1.",
    why=(
        "Retries do not end after the last step. A message that always fails uses a slot of "
        "max_ack_pending permanently."
    ),
    remedy=(
        "First store the MAX_DELIVERIES advisories in a stream. Then set max_deliver to at least "
        "the number of steps plus one. Messages that were already delivered N times are not "
        "delivered again."
    ),
    commands=(
        "nats stream add DEAD_LETTERS --subjects '$JS.EVENT.ADVISORY.*.MAX_DELIVERIES.>' --max-age 30d --defaults",
        "nats consumer edit STREAM CONSUMER --max-deliver N",
    ),
    find=find,
)
