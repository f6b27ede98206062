"""An ephemeral consumer controls the retention of a stream."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.idle_time import age
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import HOUR, duration, plural

OLD_SECONDS = HOUR


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        if config.retention not in ("interest", "workqueue"):
            continue
        ages = {
            consumer.name: old
            for consumer in context.ephemerals_of(row)
            if (old := age(consumer.created, context.now)) is not None and old > OLD_SECONDS
        }
        if ages:
            oldest = max(ages, key=lambda name: ages[name])
            yield stream_finding(
                row,
                f"{plural(len(ages), 'ephemeral consumer')} on {config.retention} retention, the "
                f"oldest is {oldest}, {duration(ages[oldest])} old",
            )


CHECK = Check(
    code="ephemeral-worker",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="An ephemeral consumer controls the retention of a stream",
    meaning=(
        "A consumer without a durable name is used on a stream whose retention depends on "
        "consumers."
    ),
    condition=(
        "The consumer is not durable and older than an hour, and the stream's retention is "
        "interest or workqueue."
    ),
    why=(
        "The server deletes the consumer if its client is absent for the inactive_threshold. An "
        "interest stream then drops undelivered messages. A workqueue keeps them without a "
        "consumer."
    ),
    remedy=(
        "Use a durable name. On an interest stream, copy the consumer, starting after the last "
        "acknowledged sequence, and delete the old one when all workers use the copy. Set a "
        "threshold, or the copy is deleted when idle too. A workqueue allows no second consumer "
        "and delivers all remaining messages: there, delete the old one first, then add the new "
        "one."
    ),
    commands=(
        "nats consumer report STREAM",
        "nats consumer copy STREAM NAME DURABLE_NAME --deliver SEQUENCE --inactive-threshold 30d",
        "nats consumer add STREAM DURABLE_NAME --pull --deliver all --defaults",
    ),
    find=find,
)
