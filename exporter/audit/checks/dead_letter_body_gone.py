"""What ran out of deliveries expires before anybody has looked."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext, acks
from exporter.audit.findings import of_stream
from exporter.audit.units import DAY, listed, span

SHORT_SECONDS = DAY


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.filtered("limits"):
        kept = config.max_age_seconds
        if kept is None or kept >= SHORT_SECONDS:
            continue
        ends = [who.name for who, its in scene.consumers_of(row) if acks(its) and its.max_deliver]
        if ends:
            yield of_stream(row, f"max_age {span(kept)}; max_deliver is set on {listed(ends)}")


CHECK = Check(
    code="dead-letter-body-gone",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="Messages that run out of deliveries expire within a day",
    meaning="A message that reached max_deliver is gone before somebody may have looked at it.",
    condition=(
        "Limits retention with a max_age below 24 h, and a consumer that wants acknowledgements "
        "has a finite max_deliver."
    ),
    why=(
        "The MAX_DELIVERIES advisory names only the sequence; the message itself has to be read "
        "from the stream while it is there."
    ),
    remedy=(
        "Keep messages for a few days, or let whoever hears the advisory copy the message at once."
    ),
    commands=("nats stream edit STREAM --max-age LONGER_AGE",),
    find=find,
)
