"""Every day more consumers."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Severity, Subject
from exporter.audit.context import AuditContext, stream_key
from exporter.audit.findings import of_stream

MANY = 500


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, _ in scene.streams:
        grown = scene.history.consumer_growth(stream_key(row)) if scene.history else None
        if grown is not None and grown >= MANY:
            yield of_stream(
                row, f"{grown:,.0f} consumers more than a day ago, {row.consumers:,} now"
            )


CHECK = Check(
    code="consumers-growing",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="Consumers add up",
    meaning="The stream got 500 or more consumers within a day and lost none.",
    condition=(
        "By the rollups the number of consumers rose by 500 or more within a day and never fell "
        "in between."
    ),
    why=(
        "Some client makes a new consumer each time and leaves the old one; each costs memory, "
        "and since 2.15 a stream allows 1,000 by default."
    ),
    remedy=(
        "Find the client by the names and the times of creation; let it reuse its consumer or "
        "set a short inactive threshold."
    ),
    commands=(
        "nats consumer report STREAM",
        "nats consumer find STREAM --expression 'config.durable_name == \"\"'",
    ),
    needs=frozenset({Need.HISTORY}),
    find=find,
)
