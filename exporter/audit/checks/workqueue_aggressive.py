"""A full queue refuses new work while old work is given up early."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream
from exporter.audit.units import listed
from exporter.model import ConsumerConfig

SHORT_SECONDS = 30.0
FEW = 10


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.filtered("workqueue"):
        limited = config.max_messages is not None or config.max_bytes is not None
        if config.discard != "new" or not limited:
            continue
        hasty = [who.name for who, its in scene.consumers_of(row) if _gives_up_early(its)]
        if hasty:
            yield of_stream(row, f"discard new; ack_wait or max_deliver is low on {listed(hasty)}")


def _gives_up_early(config: ConsumerConfig) -> bool:
    wait, deliveries = config.ack_wait_seconds, config.max_deliver
    # A short wait gives nothing up by itself: without an end to the deliveries work goes on.
    return deliveries is not None and (
        deliveries < FEW or (wait is not None and wait < SHORT_SECONDS)
    )


CHECK = Check(
    code="workqueue-aggressive",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="A queue that refuses when full, with early give-up",
    meaning="Work is given up early and stays in a queue that refuses new work when it is full.",
    condition=(
        "Workqueue retention with discard new and a limit of messages or bytes, and a consumer "
        "with a finite max_deliver that is below 10 or whose ack_wait is below 30 s."
    ),
    why="What was given up is not removed: it fills the queue until publishers are refused.",
    remedy=(
        "Try longer before giving up, and take care of what was given up. A max_age removes the "
        "rest, but it deletes what exceeds it, also work that nobody has done yet."
    ),
    commands=(
        "nats consumer edit STREAM CONSUMER --max-deliver MORE --wait LONGER",
        "nats stream edit STREAM --max-age AGE",
    ),
    find=find,
)
