"""The backoff decreases."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity
from exporter.audit.units import duration, listed


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.acking_consumers:
        steps = config.backoff_seconds
        if any(later < earlier for earlier, later in pairwise(steps)):
            yield consumer_finding(row, f"backoff {listed([duration(step) for step in steps], 8)}")


CHECK = Check(
    code="backoff-decreasing",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="The backoff decreases",
    meaning="A later redelivery comes sooner than an earlier one.",
    condition="A step of the backoff is shorter than the step before it.",
    why="The longer a message fails, the more often it is retried. The list is probably wrong.",
    remedy=(
        "Write the steps in increasing order. FIRST replaces ack_wait, so it must not be shorter "
        "than the processing time. STEPS must be below max_deliver."
    ),
    commands=(
        "nats consumer edit STREAM CONSUMER --backoff linear --backoff-steps STEPS --backoff-min FIRST --backoff-max LAST",
    ),
    find=find,
)
