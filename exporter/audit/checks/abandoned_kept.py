"""Messages that reach max_deliver are never removed."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import listed


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        if config.retention not in ("workqueue", "interest") or config.max_age_seconds is not None:
            continue
        if limited := context.with_max_deliver(row):
            yield stream_finding(
                row, f"{config.retention}, no max_age; max_deliver is set on {listed(limited)}"
            )


CHECK = Check(
    code="abandoned-kept",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="Messages that reach max_deliver are never removed",
    meaning="A message that reaches max_deliver stays in this stream.",
    condition=(
        "The retention is workqueue or interest, max_age is not set, and a consumer has a finite "
        "max_deliver."
    ),
    why=(
        "Only an acknowledgement removes a message here. Messages that reach max_deliver are "
        "never acknowledged and slowly fill the stream."
    ),
    remedy=(
        "Delete such messages by sequence after you handled them. Or set a max_age well above the "
        "retries and the longest outage: it deletes what exceeds it, including work that is not "
        "done yet."
    ),
    commands=(
        "nats stream rmm STREAM SEQUENCE",
        "nats stream edit STREAM --max-age AGE",
    ),
    find=find,
)
