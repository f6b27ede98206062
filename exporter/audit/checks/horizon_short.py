"""All retries are used up within a minute."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_consumer
from exporter.audit.units import span

SHORT_SECONDS = 60.0


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.acking_consumers:
        horizon = config.retry_horizon_seconds
        if horizon is None or config.max_deliver is None or config.max_deliver <= 1:
            continue
        if horizon < SHORT_SECONDS:
            evidence = f"{config.max_deliver:,} deliveries within {span(horizon)}"
            yield of_consumer(row, evidence)


CHECK = Check(
    code="horizon-short",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="Retries end within a minute",
    meaning="All deliveries of a message are used up less than a minute after the first.",
    condition=(
        "max_deliver is above 1, and the waits before the last delivery add up to less than 60 s."
    ),
    why="An outage of one minute is enough for every message that came meanwhile to be abandoned.",
    remedy=(
        "Add a backoff with longer steps, or raise ack_wait or max_deliver, until the retries "
        "outlast your usual outages. FIRST takes the place of ack_wait, so it must not be shorter "
        "than the work takes, nor than the present ack_wait; N must be above STEPS and not below "
        "the present max_deliver, for messages that were delivered N times already are given up "
        "at once."
    ),
    commands=(
        "nats consumer edit STREAM CONSUMER --max-deliver N --backoff linear --backoff-steps STEPS --backoff-min FIRST --backoff-max LAST",
    ),
    find=find,
)
