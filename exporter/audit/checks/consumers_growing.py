"""The number of consumers grows."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject
from exporter.audit.context import AuditContext, stream_key
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity

MANY = 500


def find(context: AuditContext) -> Iterator[Finding]:
    for row, _ in context.streams:
        grown = context.history.consumer_growth(stream_key(row)) if context.history else None
        if grown is not None and grown >= MANY:
            yield stream_finding(
                row, f"{grown:,.0f} more consumers than a day ago, {row.consumers:,} now"
            )


CHECK = Check(
    code="consumers-growing",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="The number of consumers grows",
    meaning="The stream got 500 or more consumers within a day and lost none.",
    condition=(
        "According to the rollups, the number of consumers rose by 500 or more within a day and "
        "never fell."
    ),
    why=(
        "A client probably creates a new consumer each time and keeps the old ones. Each uses "
        "memory, and servers since 2.15 allow 1,000 per stream by default."
    ),
    remedy=(
        "Find the client by the names and creation times of the consumers. Let it reuse its "
        "consumer, or set a short inactive_threshold."
    ),
    commands=(
        "nats consumer report STREAM",
        "nats consumer find STREAM --expression 'config.durable_name == \"\"'",
    ),
    needs=frozenset({Need.HISTORY}),
    find=find,
)
