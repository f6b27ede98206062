"""A consumer was close to losing messages to retention."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject
from exporter.audit.context import AuditContext, consumer_key
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import duration, plural
from exporter.model import Consumer, StreamConfig

HALF = 0.5


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.with_retention("limits"):
        found = [
            reason
            for consumer, _ in context.consumers_of(row)
            if (reason := _close(context, consumer, config))
        ]
        if found:
            others = len(found) - 1
            more = f" (and {plural(others, 'more consumer')})" if others else ""
            yield stream_finding(row, found[0] + more)


def _close(context: AuditContext, row: Consumer, stream: StreamConfig) -> str:
    if context.history is None:
        return ""
    max_age, most = stream.max_age_seconds, stream.max_messages
    lag = context.history.worst_lag(consumer_key(row))
    backlog = context.history.worst_backlog(consumer_key(row))
    if max_age is not None and lag is not None and lag > HALF * max_age:
        return f"{row.name} was {duration(lag)} behind, max_age {duration(max_age)}"
    full = most is not None and backlog is not None and backlog > HALF * most
    if full and stream.discard == "old":
        return f"{row.name} was {backlog:,.0f} messages behind, max_msgs {most:,}"
    return ""


CHECK = Check(
    code="retention-vs-lag",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="A consumer was close to losing messages to retention",
    meaning="Within a month, a consumer was behind by more than half of the stream's retention.",
    condition=(
        "Limits retention, and the worst lag of a consumer in 30 days is above half of max_age. "
        "With discard old, also a worst backlog above half of max_msgs."
    ),
    why="An outage that lasts twice as long loses messages.",
    remedy=(
        "Keep messages longer, or make the consumer recover faster. A limit below the current one "
        "deletes what exceeds it."
    ),
    commands=(
        "nats stream edit STREAM --max-age LONGER_AGE",
        "nats stream edit STREAM --max-msgs MORE_MESSAGES",
    ),
    needs=frozenset({Need.HISTORY}),
    find=find,
)
