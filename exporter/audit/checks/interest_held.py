"""An unused consumer blocks the removal of messages."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.idle_time import consumer_idle_seconds
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity
from exporter.audit.units import DAY, duration

LONG_SECONDS = 7 * DAY


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.consumers:
        found, idle = context.stream_of(row), consumer_idle_seconds(row, context.now)
        if found is None or found[1].retention != "interest" or not config.durable:
            continue
        unused = not (row.num_waiting or row.push_bound or row.paused)
        if unused and row.num_pending and idle is not None and idle > LONG_SECONDS:
            evidence = f"no delivery for {duration(idle)}, {row.num_pending:,} pending"
            yield consumer_finding(row, evidence)


CHECK = Check(
    code="interest-held",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="An unused consumer blocks the removal of messages",
    meaning="An interest stream keeps messages for a durable consumer that is not used.",
    condition=(
        "Interest retention, the consumer is durable and not paused, messages are pending, no "
        "pull request waits, no subscriber is bound, and nothing was delivered for 7 days."
    ),
    why=(
        "An interest stream removes a message only when every consumer has acknowledged it. The "
        "stream grows until its limits."
    ),
    remedy=(
        "Start the workers of this consumer again, or delete it if its application no longer "
        "exists. Deleted consumers cannot be restored."
    ),
    commands=(
        "nats consumer info STREAM CONSUMER",
        "nats consumer rm STREAM CONSUMER",
    ),
    find=find,
)
