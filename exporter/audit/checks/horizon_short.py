"""All redeliveries happen within a minute."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity
from exporter.audit.units import duration

SHORT_SECONDS = 60.0


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.acking_consumers:
        horizon = config.retry_horizon_seconds
        if horizon is None or config.max_deliver is None or config.max_deliver <= 1:
            continue
        if horizon < SHORT_SECONDS:
            evidence = f"{config.max_deliver:,} deliveries within {duration(horizon)}"
            yield consumer_finding(row, evidence)


CHECK = Check(
    code="horizon-short",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="All redeliveries happen within a minute",
    meaning="A message reaches max_deliver less than a minute after its first delivery.",
    condition=(
        "max_deliver is above 1, and the waits before the last delivery add up to less than 60 s."
    ),
    why="During an outage of one minute, every delivered message reaches max_deliver.",
    remedy=(
        "Add a backoff with longer steps, or raise ack_wait or max_deliver, until the "
        "redeliveries outlast your normal outages. FIRST replaces ack_wait, so it must not be "
        "shorter than the processing time or the current ack_wait. N must be above STEPS and at "
        "least the current max_deliver. Messages that were already delivered N times are not "
        "delivered again."
    ),
    commands=(
        "nats consumer edit STREAM CONSUMER --max-deliver N --backoff linear --backoff-steps STEPS --backoff-min FIRST --backoff-max LAST",
    ),
    find=find,
)
