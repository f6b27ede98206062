"""Publishes are not acknowledged."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import listed


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        if config.no_ack:
            yield stream_finding(row, f"no_ack true, subjects {listed(config.subjects)}")


CHECK = Check(
    code="no-ack",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="Publishes are not acknowledged",
    meaning="The stream stores messages but sends no ack to publishers.",
    condition="no_ack is true.",
    why=(
        "Publishers do not notice rejected or lost messages. Publishers that wait for an ack time "
        "out."
    ),
    remedy="Enable acks, unless publishers on these subjects expect another response.",
    commands=("nats stream edit STREAM --ack",),
    find=find,
)
