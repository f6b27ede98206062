"""A sealed stream still owns its subjects."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream
from exporter.audit.units import listed


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        if config.sealed and config.subjects:
            yield of_stream(row, f"sealed, takes {listed(config.subjects)}")


CHECK = Check(
    code="sealed-listens",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="A sealed stream still takes its subjects",
    meaning="The stream is sealed for ever, and whatever is published to its subjects is refused.",
    condition="The stream is sealed and has subjects.",
    why=(
        "Publishers get an error, and no other stream can take these subjects while this one "
        "has them."
    ),
    remedy=(
        "Nothing, when it is an archive whose subjects are dead; else copy what is needed and "
        "make a new stream, for a seal cannot be broken."
    ),
    commands=("nats stream info STREAM",),
    find=find,
)
