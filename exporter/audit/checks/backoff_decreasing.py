"""A backoff that gets shorter."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_consumer
from exporter.audit.units import listed, span


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.acking_consumers:
        steps = config.backoff_seconds
        if any(later < earlier for earlier, later in pairwise(steps)):
            yield of_consumer(row, f"backoff {listed([span(step) for step in steps], 8)}")


CHECK = Check(
    code="backoff-decreasing",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="The backoff decreases",
    meaning="A later retry comes sooner than an earlier one.",
    condition="Some step of the backoff is shorter than the one before it.",
    why="The longer something fails the harder it is tried; this is mostly a mistake in the list.",
    remedy=(
        "Write the steps in rising order. FIRST takes the place of ack_wait, so it must not be "
        "shorter than the work takes; STEPS must be below max_deliver."
    ),
    commands=(
        "nats consumer edit STREAM CONSUMER --backoff linear --backoff-steps STEPS --backoff-min FIRST --backoff-max LAST",
    ),
    find=find,
)
