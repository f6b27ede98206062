"""A durable consumer that the server deletes when nobody uses it."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_consumer
from exporter.audit.units import DAY, span

SHORT_SECONDS = DAY


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.consumers:
        threshold = config.inactive_threshold_seconds
        if config.durable and threshold is not None and threshold < SHORT_SECONDS:
            yield of_consumer(row, f"durable, deleted after {span(threshold)} without use")


CHECK = Check(
    code="durable-expires",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="A durable consumer is deleted when it is idle",
    meaning=(
        "The server deletes this durable consumer, position and all, when nobody asks it for a "
        "while."
    ),
    condition="The consumer is durable and its inactive_threshold is above 0 and below 24 h.",
    why=(
        "A weekend or an outage of the workers removes it; made again it starts where its "
        "deliver policy says, so messages are skipped or done twice."
    ),
    remedy="Set the threshold beyond the longest time that workers may be away.",
    commands=("nats consumer edit STREAM CONSUMER --inactive-threshold 30d",),
    find=find,
)
