"""Any number of messages may be in flight."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_consumer


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.acking_consumers:
        if config.max_ack_pending is None:
            yield of_consumer(row, f"max_ack_pending -1, {row.num_ack_pending:,} in flight now")


CHECK = Check(
    code="max-ack-pending-unlimited",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="Messages in flight are not limited",
    meaning="The server hands out messages without ever waiting for acknowledgements.",
    condition="The consumer wants acknowledgements and max_ack_pending is -1.",
    why=(
        "A slow or broken worker gathers the whole backlog; the server keeps each of those "
        "messages in memory and on every copy, and all come again when ack_wait ends."
    ),
    remedy=(
        "Set a limit of a few times what all workers together have in hand; below what is in "
        "flight now the consumer stands still until enough is acknowledged."
    ),
    commands=("nats consumer edit STREAM CONSUMER --max-pending LIMIT",),
    find=find,
)
