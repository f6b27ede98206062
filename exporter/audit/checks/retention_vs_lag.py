"""A consumer was once half as far behind as messages are kept."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Severity, Subject
from exporter.audit.context import AuditContext, consumer_key
from exporter.audit.findings import of_stream
from exporter.audit.units import some, span
from exporter.model import Consumer, StreamConfig

HALF = 0.5


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.filtered("limits"):
        found = [
            reason for who, _ in scene.consumers_of(row) if (reason := _close(scene, who, config))
        ]
        if found:
            others = len(found) - 1
            more = f" (and {some(others, 'more consumer')})" if others else ""
            yield of_stream(row, found[0] + more)


def _close(scene: AuditContext, row: Consumer, stream: StreamConfig) -> str:
    if scene.history is None:
        return ""
    kept, most = stream.max_age_seconds, stream.max_messages
    lag = scene.history.worst_lag(consumer_key(row))
    backlog = scene.history.worst_backlog(consumer_key(row))
    if kept is not None and lag is not None and lag > HALF * kept:
        return f"{row.name} was {span(lag)} behind, max_age is {span(kept)}"
    full = most is not None and backlog is not None and backlog > HALF * most
    if full and stream.discard == "old":
        return f"{row.name} was {backlog:,.0f} messages behind, max_msgs is {most:,}"
    return ""


CHECK = Check(
    code="retention-vs-lag",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="A consumer was nearly overtaken by retention",
    meaning=(
        "Within a month a consumer fell so far behind that it used up more than half of what "
        "the stream keeps."
    ),
    condition=(
        "Limits retention, and the worst lag of a consumer in 30 days is above half of max_age, "
        "or with discard old its worst backlog is above half of max_msgs."
    ),
    why="The next outage that lasts twice as long loses messages.",
    remedy=(
        "Keep more, or see to it that the consumer recovers sooner. A limit below the present one "
        "deletes what exceeds it."
    ),
    commands=(
        "nats stream edit STREAM --max-age LONGER_AGE",
        "nats stream edit STREAM --max-msgs MORE_MESSAGES",
    ),
    needs=frozenset({Need.HISTORY}),
    find=find,
)
