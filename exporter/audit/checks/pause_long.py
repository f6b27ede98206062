"""A consumer that stays paused for another week."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_consumer
from exporter.audit.units import DAY, span

LONG_SECONDS = 7 * DAY


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, _ in scene.consumers:
        left = row.pause_remaining_seconds
        if row.paused and left is not None and left > LONG_SECONDS:
            yield of_consumer(row, f"paused for another {span(left)}, {row.num_pending:,} waiting")


CHECK = Check(
    code="pause-long",
    severity=Severity.INFO,
    subject=Subject.CONSUMER,
    title="A consumer is paused for long",
    meaning="The consumer is paused and does not resume for a week or longer.",
    condition="The consumer is paused and more than 7 days of the pause are left.",
    why=(
        "A pause that was forgotten looks like an idle consumer; meanwhile retention removes "
        "what it has not seen."
    ),
    remedy="Resume it when its reason is gone.",
    commands=("nats consumer resume STREAM CONSUMER",),
    since="2.11",
    find=find,
)
