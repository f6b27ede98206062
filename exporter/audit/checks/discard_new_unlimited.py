"""A stream that would refuse when full, and is never full."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        per_subject = config.discard_new_per_subject and config.max_messages_per_subject
        limited = config.max_messages or config.max_bytes or per_subject
        # Libraries make every bucket and object store so.
        if config.kind == "stream" and config.discard == "new" and not limited:
            yield of_stream(row, f"discard new, no limit; {row.messages:,} messages")


CHECK = Check(
    code="discard-new-unlimited",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="Discard new without a limit",
    meaning="The stream is to refuse new messages when it is full, but it never is.",
    condition=(
        "Discard new, and neither max_msgs nor max_bytes is set, nor max_msgs_per_subject with "
        "discard per subject; buckets and object stores are left out."
    ),
    why="Whoever set it expects publishers to be stopped in time; nothing stops them.",
    remedy=(
        "Set the limit that was meant, above what the stream holds: below it publishers are "
        "refused at once."
    ),
    commands=("nats stream edit STREAM --max-bytes BYTES",),
    find=find,
)
