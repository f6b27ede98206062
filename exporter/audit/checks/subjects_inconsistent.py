"""More subjects than messages cannot be."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, _ in scene.streams:
        if row.subjects > row.messages > 0:
            yield of_stream(row, f"{row.subjects:,} subjects, {row.messages:,} messages")


CHECK = Check(
    code="subjects-inconsistent",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="More subjects than messages",
    meaning="The stream claims more subjects than it has messages, which cannot be.",
    condition="The stream has messages, and more subjects than messages.",
    why=(
        "A part of the stream on the disk is damaged. Its messages are lost on this server, while "
        "the index still names their subjects, or the index itself is wrong: requests by subject "
        "and filtered consumers may be answered wrongly."
    ),
    remedy=(
        "Let another replica lead and look again; when it says the same, restart the servers of "
        "the stream one by one, make a backup with a check of every message, and update."
    ),
    commands=(
        "nats stream cluster step-down STREAM",
        "nats stream backup STREAM DIRECTORY --check",
    ),
    find=find,
)
