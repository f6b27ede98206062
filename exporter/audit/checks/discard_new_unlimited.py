"""Discard new without a limit."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        per_subject = config.discard_new_per_subject and config.max_messages_per_subject
        limited = config.max_messages or config.max_bytes or per_subject
        # Client libraries create all buckets and object stores like this.
        if config.kind == "stream" and config.discard == "new" and not limited:
            yield stream_finding(row, f"discard new, no limit; {row.messages:,} messages")


CHECK = Check(
    code="discard-new-unlimited",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="Discard new without a limit",
    meaning="The stream would reject new messages when full, but it has no limit.",
    condition=(
        "Discard new, and neither max_msgs nor max_bytes is set, nor max_msgs_per_subject with "
        "discard per subject. Buckets and object stores are exempt."
    ),
    why="Discard new is meant to stop publishers in time, but without a limit it never does.",
    remedy=(
        "Set the intended limit above the current size of the stream. Below it, the stream "
        "rejects publishers at once."
    ),
    commands=("nats stream edit STREAM --max-bytes BYTES",),
    find=find,
)
