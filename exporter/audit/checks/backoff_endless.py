"""A backoff whose last step is repeated for ever."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_consumer
from exporter.audit.units import some, span


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.acking_consumers:
        if config.backoff_seconds and config.max_deliver is None:
            last = span(config.backoff_seconds[-1])
            steps = some(len(config.backoff_seconds), "step")
            yield of_consumer(row, f"backoff of {steps}, then every {last} without end")


CHECK = Check(
    code="backoff-endless",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="A backoff without an end",
    meaning=(
        "After its last step the backoff repeats that step for ever, because max_deliver is "
        "unlimited."
    ),
    condition="There is a backoff and max_deliver is -1.",
    why=(
        "The backoff only makes it look as if retries ended: a poisoned message still holds its "
        "place in max_ack_pending for ever."
    ),
    remedy=(
        "Keep the MAX_DELIVERIES advisory in a stream first, then set max_deliver to at least the "
        "number of steps plus one: messages that were delivered N times already are given up at "
        "once."
    ),
    commands=(
        "nats stream add DEAD_LETTERS --subjects '$JS.EVENT.ADVISORY.*.MAX_DELIVERIES.>' --max-age 30d --defaults",
        "nats consumer edit STREAM CONSUMER --max-deliver N",
    ),
    find=find,
)
