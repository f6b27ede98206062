"""An ephemeral consumer outlives its client by a day."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import DAY, duration, plural

LONG_SECONDS = DAY


def find(context: AuditContext) -> Iterator[Finding]:
    for row, _ in context.streams:
        thresholds = {
            consumer.name: consumer.config.inactive_threshold_seconds or 0.0
            for consumer in context.ephemerals_of(row)
            if consumer.config is not None
        }
        lingering = [name for name, seconds in thresholds.items() if seconds >= LONG_SECONDS]
        if lingering:
            longest = max(lingering, key=lambda name: thresholds[name])
            yield stream_finding(
                row,
                f"{plural(len(lingering), 'ephemeral consumer')}, the longest inactive_threshold is "
                f"{duration(thresholds[longest])}, of {longest}",
            )


CHECK = Check(
    code="ephemeral-lingers",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="An ephemeral consumer outlives its client by a day",
    meaning="An ephemeral consumer stays for a day or longer after its client is gone.",
    condition="The consumer is not durable and its inactive_threshold is 24 h or longer.",
    why=(
        "Each reconnect with a new consumer leaves the old one behind. On interest streams, each "
        "prevents the removal of messages."
    ),
    remedy=(
        "Let the client use a short threshold, and a durable name if the position matters. The "
        "command changes this consumer: an ephemeral copy keeps its name and its position. A "
        "durable copy would have to start after the last acknowledged sequence."
    ),
    commands=(
        "nats consumer report STREAM",
        "nats consumer copy STREAM NAME NEW_CONSUMER --ephemeral --inactive-threshold 5m",
    ),
    find=find,
)
