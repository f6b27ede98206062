"""A consumer that has finished with a stream that has ended."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.idle_time import age, stored_nothing_for
from exporter.audit.findings import of_consumer
from exporter.audit.units import DAY, span

LONG_SECONDS = 30 * DAY


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.consumers:
        found, old = scene.stream_of(row), age(row.created, scene.now)
        if not config.durable or found is None or row.num_pending or row.num_ack_pending:
            continue
        idle = stored_nothing_for(found[0], scene.now)
        if old is not None and old > LONG_SECONDS and idle is not None and idle > LONG_SECONDS:
            yield of_consumer(row, f"nothing to do, its stream stored nothing for {span(idle)}")


CHECK = Check(
    code="consumer-drained",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="A consumer has nothing left to do",
    meaning="The consumer has finished everything of a stream that gets no messages any more.",
    condition=(
        "The consumer is durable and older than 30 days, nothing is pending or unacknowledged, "
        "and nothing was stored in its stream for 30 days."
    ),
    why="It costs memory, disk and a Raft group for nothing.",
    remedy="Ask its owner whether both have served their time. Removing cannot be undone.",
    commands=(
        "nats consumer info STREAM CONSUMER",
        "nats consumer rm STREAM CONSUMER",
    ),
    find=find,
)
