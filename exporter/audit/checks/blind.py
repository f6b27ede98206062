"""Redeliveries, but no ack samples."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject
from exporter.audit.context import AuditContext, consumer_key
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity
from exporter.audit.units import percent

MANY = 0.01


def find(context: AuditContext) -> Iterator[Finding]:
    if context.history is None:
        return
    for row, config in context.acking_consumers:
        ratio = context.history.redelivery_ratio(consumer_key(row))
        if not config.sample_percent and ratio is not None and ratio > MANY:
            yield consumer_finding(
                row, f"{percent(ratio)} of a day's deliveries were redeliveries, no ack samples"
            )


CHECK = Check(
    code="blind",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="Redeliveries, but no ack samples",
    meaning="Messages are redelivered, but no acks are sampled to show the cause.",
    condition="sample_freq is not set and more than 1 % of a day's deliveries were redeliveries.",
    why="Without samples you cannot see whether ack_wait is too short or workers fail.",
    remedy="Let the server sample a share of the acks. Streamgauge exports them as a histogram.",
    commands=("nats consumer edit STREAM CONSUMER --sample 10",),
    needs=frozenset({Need.HISTORY}),
    find=find,
)
