"""A message expires before it can be delivered a second time."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_consumer
from exporter.audit.units import span


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.acking_consumers:
        found = scene.stream_of(row)
        # With an end to the retries another check adds them all up.
        if found is None or config.max_deliver is not None:
            continue
        kept = found[1].max_age_seconds
        wait = config.backoff_seconds[0] if config.backoff_seconds else config.ack_wait_seconds
        if kept is not None and wait is not None and wait >= kept:
            yield of_consumer(
                row, f"the first retry comes after {span(wait)}, max_age {span(kept)}"
            )


CHECK = Check(
    code="ack-wait-over-retention",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="Messages expire before their first retry",
    meaning="The stream removes a message before a second worker could get it.",
    condition=(
        "max_deliver is -1, the stream has a max_age, and ack_wait, or the first step of the "
        "backoff, is as long or longer."
    ),
    why="What a worker had in hand when it died is gone, although retries are unlimited.",
    remedy=(
        "Keep messages several times longer than ack_wait, or shorten ack_wait, but not below the "
        "slowest usual work. An age shorter than the present one deletes what exceeds it."
    ),
    commands=(
        "nats stream edit STREAM --max-age LONGER_AGE",
        "nats consumer edit STREAM CONSUMER --wait SHORTER",
    ),
    find=find,
)
