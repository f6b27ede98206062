"""Nearly as many consumers as the stream allows."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream

NEAR = 0.9
# A smaller limit is meant to be reached.
LEAST = 10


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        most = config.max_consumers
        if most is not None and most >= LEAST and row.consumers >= NEAR * most:
            yield of_stream(row, f"{row.consumers:,} consumers, at most {most:,}")


CHECK = Check(
    code="consumers-near-limit",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="Nearly as many consumers as allowed",
    meaning="The stream soon allows no further consumer.",
    condition=(
        "The consumers reach 90 % of a max_consumers of 10 or more; servers since 2.15 allow "
        "1,000 where the stream sets no limit."
    ),
    why="Beyond the limit applications that make their consumer at start fail to start.",
    remedy=(
        "Remove what nobody uses, find out who leaves consumers behind, or raise the limit. "
        "Removing cannot be undone."
    ),
    commands=(
        "nats consumer report STREAM",
        "nats stream edit STREAM --max-consumers HIGHER",
    ),
    find=find,
)
