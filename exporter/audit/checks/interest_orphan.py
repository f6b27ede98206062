"""Publishes are acknowledged but not stored."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject
from exporter.audit.context import AuditContext, stream_key
from exporter.audit.facts.stream_origins import origin_keys
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import amount


def find(context: AuditContext) -> Iterator[Finding]:
    origins = origin_keys(context)
    for row, config in context.with_retention("interest"):
        rate = context.stored_per_second(row)
        if row.consumers == 0 and rate and stream_key(row) not in origins and not config.mirror:
            yield stream_finding(
                row, f"no consumer, publish rate {amount(rate)}/s, nothing is stored"
            )


CHECK = Check(
    code="interest-orphan",
    severity=Severity.CRIT,
    subject=Subject.STREAM,
    title="Publishes are acknowledged but not stored",
    meaning="An interest stream without a consumer acknowledges every message and stores none.",
    condition=(
        "Interest retention, no consumer, no other stream sources from it, and its last sequence "
        "rose between the two polls."
    ),
    why="Publishers get an ack, but their messages are lost.",
    remedy=(
        "Create the missing consumer before you publish more messages, or change the retention to "
        "limits."
    ),
    commands=(
        "nats consumer add STREAM CONSUMER --pull --deliver all --defaults",
        "nats stream edit STREAM --retention limits",
    ),
    needs=frozenset({Need.SECOND_POLL}),
    find=find,
)
