"""Publishes are acknowledged and thrown away."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Severity, Subject
from exporter.audit.context import AuditContext, stream_key
from exporter.audit.facts.stream_origins import taken_from
from exporter.audit.findings import of_stream
from exporter.audit.units import amount


def find(scene: AuditContext) -> Iterator[Finding]:
    origins = taken_from(scene)
    for row, config in scene.filtered("interest"):
        rate = scene.stored_per_second(row)
        if row.consumers == 0 and rate and stream_key(row) not in origins and not config.mirror:
            yield of_stream(
                row, f"no consumer; publishes arrive at {amount(rate)}/s and are not kept"
            )


CHECK = Check(
    code="interest-orphan",
    severity=Severity.CRIT,
    subject=Subject.STREAM,
    title="Publishes are acknowledged and not kept",
    meaning="An interest stream without a consumer acknowledges every message and keeps none.",
    condition=(
        "Interest retention, no consumer, no other stream takes from it, and its sequence rose "
        "between the two looks."
    ),
    why="Publishers believe that their messages are safe; they are gone.",
    remedy=(
        "Make the consumer that is missing before anything else is published, or change the "
        "retention to limits."
    ),
    commands=(
        "nats consumer add STREAM CONSUMER --pull --deliver all --defaults",
        "nats stream edit STREAM --retention limits",
    ),
    needs=frozenset({Need.SECOND_LOOK}),
    find=find,
)
