"""The consumer is finished and its stream is idle."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.idle_time import age, stream_idle_seconds
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity
from exporter.audit.units import DAY, duration

LONG_SECONDS = 30 * DAY


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.consumers:
        found, old = context.stream_of(row), age(row.created, context.now)
        if not config.durable or found is None or row.num_pending or row.num_ack_pending:
            continue
        idle = stream_idle_seconds(found[0], context.now)
        if old is not None and old > LONG_SECONDS and idle is not None and idle > LONG_SECONDS:
            yield consumer_finding(row, f"nothing pending, stream idle for {duration(idle)}")


CHECK = Check(
    code="consumer-drained",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="The consumer is finished and its stream is idle",
    meaning="The consumer has acknowledged all messages of a stream that gets no new ones.",
    condition=(
        "The consumer is durable and older than 30 days, has no pending or unacknowledged "
        "messages, and its stream stored nothing for 30 days."
    ),
    why="It uses memory, disk and a Raft group without benefit.",
    remedy=(
        "Clarify with the owner whether the stream and the consumer are still needed. Deleted "
        "consumers cannot be restored."
    ),
    commands=(
        "nats consumer info STREAM CONSUMER",
        "nats consumer rm STREAM CONSUMER",
    ),
    find=find,
)
