"""An ephemeral consumer that outlives its client by a day and more."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_consumer
from exporter.audit.units import DAY, span

LONG_SECONDS = DAY


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.consumers:
        threshold = config.inactive_threshold_seconds
        if not config.durable and threshold is not None and threshold >= LONG_SECONDS:
            yield of_consumer(row, f"ephemeral, kept for {span(threshold)} without use")


CHECK = Check(
    code="ephemeral-lingers",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="An ephemeral consumer outlives its client by a day",
    meaning="An ephemeral consumer is kept for a day or longer after its client is gone.",
    condition="The consumer is not durable and its inactive_threshold is 24 h or longer.",
    why=(
        "Every client that comes back with a new one leaves the old one behind: they add up, "
        "and on interest streams each holds messages back."
    ),
    remedy=(
        "Let the client make it with a short threshold, and with a durable name where the "
        "position matters. The command changes this one: a copy that stays ephemeral keeps its "
        "name, and so its position. A durable copy would have to start after the last "
        "acknowledged sequence."
    ),
    commands=(
        "nats consumer copy STREAM CONSUMER NEW_CONSUMER --ephemeral --inactive-threshold 5m",
    ),
    find=find,
)
