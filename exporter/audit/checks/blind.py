"""Messages come again, and nobody measures how long acknowledging takes."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Severity, Subject
from exporter.audit.context import AuditContext, consumer_key
from exporter.audit.findings import of_consumer
from exporter.audit.units import share

MANY = 0.01


def find(scene: AuditContext) -> Iterator[Finding]:
    if scene.history is None:
        return
    for row, config in scene.acking_consumers:
        ratio = scene.history.redelivery_ratio(consumer_key(row))
        if not config.sample_percent and ratio is not None and ratio > MANY:
            yield of_consumer(
                row, f"{share(ratio)} of a day's deliveries were repeats, none is sampled"
            )


CHECK = Check(
    code="blind",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="Redeliveries, and acknowledgements are not timed",
    meaning="Messages are delivered again, and no acknowledgement is sampled that could tell why.",
    condition=(
        "No sample_freq is set and more than 1 % of the deliveries of a day were repeated ones."
    ),
    why="Whether ack_wait is too short or workers fail can then only be guessed.",
    remedy=(
        "Let the server time a share of the acknowledgements; Streamgauge draws them as a "
        "histogram."
    ),
    commands=("nats consumer edit STREAM CONSUMER --sample 10",),
    needs=frozenset({Need.HISTORY}),
    find=find,
)
