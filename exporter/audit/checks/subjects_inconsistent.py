"""More subjects than messages."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity


def find(context: AuditContext) -> Iterator[Finding]:
    for row, _ in context.streams:
        if row.subjects > row.messages > 0:
            yield stream_finding(row, f"{row.subjects:,} subjects, {row.messages:,} messages")


CHECK = Check(
    code="subjects-inconsistent",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="More subjects than messages",
    meaning="The stream reports more subjects than messages, which is impossible.",
    condition="The stream has messages, and more subjects than messages.",
    why=(
        "Blocks on the disk are damaged and their messages are lost on this server, or the index "
        "is wrong. Requests by subject and filtered consumers may return wrong results."
    ),
    remedy=(
        "Let another replica lead and check again. If it reports the same, restart the servers of "
        "the stream one by one, create a backup with consistency check, and update the servers."
    ),
    commands=(
        "nats stream cluster step-down STREAM",
        "nats stream backup STREAM DIRECTORY --check",
    ),
    find=find,
)
