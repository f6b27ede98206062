"""ack_wait is short for the processing time."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject, Unknown
from exporter.audit.context import AuditContext
from exporter.audit.facts.ack_times import has_ack_times, mean_ack_time, p99_ack_time
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity
from exporter.audit.units import duration

SPARE = 2


def find(context: AuditContext) -> Iterator[Finding | Unknown]:
    if not has_ack_times(context):
        yield Unknown(reason="needs the time to ack: rollups or ack samples")
        return
    for row, config in context.acking_consumers:
        wait = config.ack_wait_seconds
        # backoff-first-short covers consumers with a backoff.
        if wait is None or config.backoff_seconds:
            continue
        taken = p99_ack_time(context, row) or mean_ack_time(context, row)
        if taken is not None and wait < SPARE * taken.low:
            yield consumer_finding(row, f"ack_wait {duration(wait)}; {taken.text}")


CHECK = Check(
    code="ack-wait-short",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="ack_wait is short for the processing time",
    meaning="Workers need more than half of ack_wait to acknowledge a message.",
    condition=(
        "There is no backoff, and ack_wait is below twice the p99 of the time to ack over a day. "
        "If the p99 is not known, the mean is used."
    ),
    why=(
        "Slow messages are redelivered to a second worker while the first one still works. The "
        "extra load slows all workers down."
    ),
    remedy=(
        "Set ack_wait to at least twice the slowest normal processing time, or send in-progress "
        "acks. Smaller batches also help, because ack_wait starts at delivery."
    ),
    commands=("nats consumer edit STREAM CONSUMER --wait LONGER",),
    find=find,
)
