"""Workers take nearly as long as they are allowed to."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject, Unknown
from exporter.audit.context import AuditContext
from exporter.audit.facts.ack_times import can_be_told, mean, slowest
from exporter.audit.findings import of_consumer
from exporter.audit.units import span

SPARE = 2


def find(scene: AuditContext) -> Iterator[Finding | Unknown]:
    if not can_be_told(scene):
        yield Unknown(reason="neither rollups nor sampled acks tell how long acknowledging takes")
        return
    for row, config in scene.acking_consumers:
        wait = config.ack_wait_seconds
        # With a backoff its first step counts instead; another check looks at that.
        if wait is None or config.backoff_seconds:
            continue
        taken = slowest(scene, row) or mean(scene, row)
        if taken is not None and wait < SPARE * taken.low:
            yield of_consumer(row, f"ack_wait {span(wait)}; {taken.text}")


CHECK = Check(
    code="ack-wait-short",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="ack_wait is short for the work",
    meaning="Workers need more than half of ack_wait to acknowledge a message.",
    condition=(
        "There is no backoff, and ack_wait is below twice the p99 of the time to acknowledge "
        "over a day, or, where that is not known, below twice its mean."
    ),
    why=(
        "The slowest messages are delivered to a second worker while the first is still busy, "
        "and the double load makes everything slower."
    ),
    remedy=(
        "Give at least twice the slowest usual time, or let workers report progress; smaller "
        "batches help as well, for the time counts from delivery."
    ),
    commands=("nats consumer edit STREAM CONSUMER --wait LONGER",),
    find=find,
)
