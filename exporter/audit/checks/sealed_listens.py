"""A sealed stream still has subjects."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import listed


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        if config.sealed and config.subjects:
            yield stream_finding(row, f"sealed, subjects {listed(config.subjects)}")


CHECK = Check(
    code="sealed-listens",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="A sealed stream still has subjects",
    meaning="The stream is sealed, and all publishes to its subjects are rejected.",
    condition="The stream is sealed and has subjects.",
    why="Publishers get an error, and no other stream can use these subjects.",
    remedy=(
        "Nothing, if the stream is an archive and its subjects are no longer used. Otherwise copy "
        "the messages to a new stream, because a seal cannot be removed."
    ),
    commands=("nats stream info STREAM",),
    find=find,
)
