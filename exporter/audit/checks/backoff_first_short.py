"""The first step of a backoff is the time that workers have."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.ack_times import slowest
from exporter.audit.findings import of_consumer
from exporter.audit.units import span

SHORT_SECONDS = 10.0
SPARE = 2


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.acking_consumers:
        if not config.backoff_seconds:
            continue
        first, slow = config.backoff_seconds[0], slowest(scene, row)
        if slow is not None and first < SPARE * slow.low:
            yield of_consumer(row, f"backoff begins with {span(first)}; {slow.text}")
        elif first < SHORT_SECONDS:
            replaced = f"below {span(SHORT_SECONDS)}, and it replaces ack_wait"
            yield of_consumer(row, f"backoff begins with {span(first)}, {replaced}")


CHECK = Check(
    code="backoff-first-short",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="The first step of the backoff leaves workers too little time",
    meaning="The first step of a backoff replaces ack_wait, and here it is short for the work.",
    condition="The first step is below 10 s, or below twice the p99 of the time to acknowledge.",
    why=(
        "A worker that needs longer finds its message given to another one: the work is done twice."
    ),
    remedy=(
        "Begin the backoff with at least twice the slowest usual time of the work, for its first "
        "step takes the place of ack_wait. The command replaces all steps; STEPS must be below "
        "max_deliver."
    ),
    commands=(
        "nats consumer edit STREAM CONSUMER --backoff linear --backoff-steps STEPS --backoff-min FIRST --backoff-max LAST",
    ),
    find=find,
)
