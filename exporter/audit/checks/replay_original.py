"""A durable consumer replays at the original rate."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.consumers:
        if config.durable and config.replay_policy == "original":
            yield consumer_finding(row, f"replay policy original, {row.num_pending:,} pending")


CHECK = Check(
    code="replay-original",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="A durable consumer replays at the original rate",
    meaning="The server waits between two messages as long as their publisher did.",
    condition="The consumer is durable and its replay policy is original.",
    why="A backlog never drains faster than it was published, with any number of workers.",
    remedy=(
        "Use replay policy instant, unless you want a replay. The policy of a consumer cannot be "
        "changed. A copy starts at its deliver policy: start it after the last acknowledged "
        "sequence. A workqueue allows no second consumer: there, delete the old one first and use "
        "deliver policy all."
    ),
    commands=(
        "nats consumer info STREAM CONSUMER",
        "nats consumer copy STREAM CONSUMER NEW_CONSUMER --replay instant --deliver SEQUENCE",
    ),
    find=find,
)
