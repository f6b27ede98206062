"""Messages that reach max_deliver expire within a day."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import DAY, duration, listed

SHORT_SECONDS = DAY


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.with_retention("limits"):
        max_age = config.max_age_seconds
        if max_age is None or max_age >= SHORT_SECONDS:
            continue
        if limited := context.with_max_deliver(row):
            yield stream_finding(
                row, f"max_age {duration(max_age)}; max_deliver is set on {listed(limited)}"
            )


CHECK = Check(
    code="dead-letter-body-gone",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="Messages that reach max_deliver expire within a day",
    meaning="A message that reaches max_deliver may expire before you can inspect it.",
    condition=(
        "Limits retention with a max_age below 24 h, and a consumer that requires acks has a "
        "finite max_deliver."
    ),
    why=(
        "The MAX_DELIVERIES advisory has only the sequence. The message must be read from the "
        "stream before it expires."
    ),
    remedy="Keep messages for a few days, or copy the message when the advisory arrives.",
    commands=("nats stream edit STREAM --max-age LONGER_AGE",),
    find=find,
)
