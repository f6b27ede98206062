"""A durable consumer is deleted when idle."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity
from exporter.audit.units import DAY, duration

SHORT_SECONDS = DAY


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.consumers:
        threshold = config.inactive_threshold_seconds
        if config.durable and threshold is not None and threshold < SHORT_SECONDS:
            yield consumer_finding(row, f"durable, inactive_threshold {duration(threshold)}")


CHECK = Check(
    code="durable-expires",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="A durable consumer is deleted when idle",
    meaning=(
        "The server deletes this durable consumer and its position after a short time without use."
    ),
    condition="The consumer is durable and its inactive_threshold is above 0 and below 24 h.",
    why=(
        "A weekend or an outage of the workers deletes it. A new consumer starts at its deliver "
        "policy, so messages are skipped or processed twice."
    ),
    remedy="Set the threshold above the longest expected absence of workers.",
    commands=("nats consumer edit STREAM CONSUMER --inactive-threshold 30d",),
    find=find,
)
