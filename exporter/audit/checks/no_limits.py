"""The stream has no limit."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import size


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        limits = (
            config.max_messages,
            config.max_bytes,
            config.max_age_seconds,
            config.max_messages_per_subject,
        )
        if not config.sealed and all(limit is None for limit in limits):
            yield stream_finding(row, f"no limit; {row.messages:,} messages, {size(row.bytes)}")


CHECK = Check(
    code="no-limits",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="The stream has no limit",
    meaning="Nothing limits the size of the stream.",
    condition=(
        "None of max_msgs, max_bytes, max_age and max_msgs_per_subject is set, and the stream is "
        "not sealed."
    ),
    why="It grows until the account or the disk is full. Then all streams there reject messages.",
    remedy=(
        "Set max_age if messages lose their value with time, or max_bytes if disk space matters. "
        "A limit deletes what exceeds it at once."
    ),
    commands=(
        "nats stream edit STREAM --max-age AGE",
        "nats stream edit STREAM --max-bytes BYTES",
    ),
    default=True,
    find=find,
)
