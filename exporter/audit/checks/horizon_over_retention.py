"""Messages expire before their retries do."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_consumer
from exporter.audit.units import span


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.acking_consumers:
        found, horizon = scene.stream_of(row), config.retry_horizon_seconds
        if found is None or horizon is None or config.ack_wait_seconds is None:
            continue
        kept = found[1].max_age_seconds
        needed = horizon + config.ack_wait_seconds
        if kept is not None and needed > kept:
            yield of_consumer(row, f"retries take {span(needed)}, max_age is {span(kept)}")


CHECK = Check(
    code="horizon-over-retention",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="Retries last longer than messages are kept",
    meaning="The stream removes a message before its last delivery can take place.",
    condition=(
        "The stream has a max_age, max_deliver is finite, and the waits before the last "
        "delivery plus ack_wait exceed max_age."
    ),
    why=(
        "A message that fails long enough disappears without having run out of deliveries, so "
        "not even the MAX_DELIVERIES advisory tells of it."
    ),
    remedy=(
        "Keep messages longer, or end the retries sooner: messages that were delivered N times "
        "already are given up at once. An age shorter than the present one deletes what exceeds "
        "it."
    ),
    commands=(
        "nats stream edit STREAM --max-age LONGER_AGE",
        "nats consumer edit STREAM CONSUMER --max-deliver N",
    ),
    find=find,
)
