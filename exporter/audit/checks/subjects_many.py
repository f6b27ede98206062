"""A million subjects and more."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream

MANY = 1_000_000


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, _ in scene.streams:
        if row.subjects >= MANY:
            yield of_stream(row, f"{row.subjects:,} subjects, {row.messages:,} messages")


CHECK = Check(
    code="subjects-many",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="Very many subjects in one stream",
    meaning="The stream holds a million subjects or more.",
    condition="1,000,000 or more subjects.",
    why=(
        "The server keeps every subject in memory on each replica, and requests about "
        "subjects, new consumers with filters and recovery get slow."
    ),
    remedy=(
        "Put what is unique to a message into a header instead of the subject, or spread the "
        "subjects over several streams."
    ),
    commands=("nats stream subjects STREAM",),
    find=find,
)
