"""Very many subjects in one stream."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity

MANY = 1_000_000


def find(context: AuditContext) -> Iterator[Finding]:
    for row, _ in context.streams:
        if row.subjects >= MANY:
            yield stream_finding(row, f"{row.subjects:,} subjects, {row.messages:,} messages")


CHECK = Check(
    code="subjects-many",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="Very many subjects in one stream",
    meaning="The stream holds a million subjects or more.",
    condition="1,000,000 or more subjects.",
    why=(
        "Each replica keeps every subject in memory. Requests about subjects, new filtered "
        "consumers and recovery become slow."
    ),
    remedy=(
        "Use a header instead of the subject for values that are unique per message, or split the "
        "subjects over several streams."
    ),
    commands=("nats stream subjects STREAM",),
    find=find,
)
