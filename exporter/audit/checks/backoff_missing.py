"""Every retry comes after the same wait."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_consumer
from exporter.audit.units import span

FEW = 3


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.acking_consumers:
        if not config.backoff_seconds and (config.max_deliver is None or config.max_deliver > FEW):
            limit = "-1" if config.max_deliver is None else f"{config.max_deliver:,}"
            wait = span(config.ack_wait_seconds or 0)
            yield of_consumer(row, f"max_deliver {limit}, no backoff, ack_wait {wait}")


CHECK = Check(
    code="backoff-missing",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="Retries without a backoff",
    meaning="Each retry of a message comes after the same ack_wait, however often it failed.",
    condition=(
        "The consumer wants acknowledgements, there is no backoff, and max_deliver is -1 or "
        "above 3."
    ),
    why=(
        "The retries are spent within a short outage, or they hammer a service that tries to "
        "recover."
    ),
    remedy=(
        "Set a backoff. FIRST takes the place of ack_wait, so it must not be shorter than the "
        "work takes; N must be above STEPS and not below the present max_deliver, for messages "
        "that were delivered N times already are given up at once."
    ),
    commands=(
        "nats consumer edit STREAM CONSUMER --max-deliver N --backoff linear --backoff-steps STEPS --backoff-min FIRST --backoff-max LAST",
    ),
    find=find,
)
