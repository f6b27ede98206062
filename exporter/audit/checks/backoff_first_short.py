"""The first backoff step is short for the processing time."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.ack_times import p99_ack_time
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity
from exporter.audit.units import duration

SHORT_SECONDS = 10.0
SPARE = 2


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.acking_consumers:
        if not config.backoff_seconds:
            continue
        first, slow = config.backoff_seconds[0], p99_ack_time(context, row)
        if slow is not None and first < SPARE * slow.low:
            yield consumer_finding(row, f"first backoff step {duration(first)}; {slow.text}")
        elif first < SHORT_SECONDS:
            replaced = f"below {duration(SHORT_SECONDS)}; it replaces ack_wait"
            yield consumer_finding(row, f"first backoff step {duration(first)}, {replaced}")


CHECK = Check(
    code="backoff-first-short",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="The first backoff step is short for the processing time",
    meaning="The first step of the backoff replaces ack_wait, and it is too short.",
    condition="The first step is below 10 s, or below twice the p99 of the time to ack.",
    why=(
        "A slow message is redelivered to another worker while the first one still works, so it "
        "is processed twice."
    ),
    remedy=(
        "Set the first step to at least twice the slowest normal processing time, because it "
        "replaces ack_wait. The command replaces all steps. STEPS must be below max_deliver."
    ),
    commands=(
        "nats consumer edit STREAM CONSUMER --backoff linear --backoff-steps STEPS --backoff-min FIRST --backoff-max LAST",
    ),
    find=find,
)
