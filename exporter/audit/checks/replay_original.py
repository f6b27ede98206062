"""Messages are replayed at the pace at which they came."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_consumer


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.consumers:
        if config.durable and config.replay_policy == "original":
            yield of_consumer(row, f"replay policy original, {row.num_pending:,} waiting")


CHECK = Check(
    code="replay-original",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="A durable consumer replays at the original pace",
    meaning="The server waits between two messages as long as their publisher did.",
    condition="The consumer is durable and its replay policy is original.",
    why="A backlog can never be worked off faster than it came in, however many workers there are.",
    remedy=(
        "Unless a replay is meant, use a consumer that delivers at once; the policy of an "
        "existing one cannot be changed. A copy starts where its deliver policy says: start it "
        "after the last acknowledged sequence. A workqueue allows no second one: there remove the "
        "old one first, and deliver all."
    ),
    commands=(
        "nats consumer info STREAM CONSUMER",
        "nats consumer copy STREAM CONSUMER NEW_CONSUMER --replay instant --deliver SEQUENCE",
    ),
    find=find,
)
