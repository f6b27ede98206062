"""The stream is near its limit of consumers."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity

NEAR = 0.9
# A smaller limit is usually reached on purpose.
LEAST = 10


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        most = config.max_consumers
        if most is not None and most >= LEAST and row.consumers >= NEAR * most:
            yield stream_finding(row, f"{row.consumers:,} consumers, limit {most:,}")


CHECK = Check(
    code="consumers-near-limit",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="The stream is near its limit of consumers",
    meaning="The stream soon allows no more consumers.",
    condition=(
        "The number of consumers is at least 90 % of a max_consumers of 10 or more. Servers since "
        "2.15 allow 1,000 if the stream sets no limit."
    ),
    why="Above the limit, applications that create their consumer at startup fail to start.",
    remedy=(
        "Remove unused consumers, find the client that leaves consumers behind, or raise the "
        "limit. Deleted consumers cannot be restored."
    ),
    commands=(
        "nats consumer report STREAM",
        "nats stream edit STREAM --max-consumers HIGHER",
    ),
    find=find,
)
