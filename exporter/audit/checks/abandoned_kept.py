"""Messages that ran out of deliveries stay for ever."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext, acks
from exporter.audit.findings import of_stream
from exporter.audit.units import listed


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        if config.retention not in ("workqueue", "interest") or config.max_age_seconds is not None:
            continue
        ends = [who.name for who, its in scene.consumers_of(row) if acks(its) and its.max_deliver]
        if ends:
            yield of_stream(
                row, f"{config.retention}, no max_age; max_deliver is set on {listed(ends)}"
            )


CHECK = Check(
    code="abandoned-kept",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="Messages that run out of deliveries are never removed",
    meaning="A message that reached max_deliver stays in this stream for ever.",
    condition=(
        "The retention is workqueue or interest, there is no max_age, and a consumer has a "
        "finite max_deliver."
    ),
    why=(
        "Only an acknowledgement removes a message here; what was given up is never "
        "acknowledged and fills the stream slowly."
    ),
    remedy=(
        "Remove what was given up by its sequence once it is dealt with, or set a max_age well "
        "above the retries and the longest outage: it deletes what exceeds it, also work that "
        "nobody has done yet."
    ),
    commands=(
        "nats stream rmm STREAM SEQUENCE",
        "nats stream edit STREAM --max-age AGE",
    ),
    find=find,
)
