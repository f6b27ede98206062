"""Nothing bounds how much a stream may hold."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream
from exporter.audit.units import size


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        limits = (
            config.max_messages,
            config.max_bytes,
            config.max_age_seconds,
            config.max_messages_per_subject,
        )
        if not config.sealed and all(limit is None for limit in limits):
            yield of_stream(row, f"no limit; holds {row.messages:,} messages, {size(row.bytes)}")


CHECK = Check(
    code="no-limits",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="A stream without any limit",
    meaning="Nothing limits how much the stream may hold.",
    condition=(
        "None of max_msgs, max_bytes, max_age and max_msgs_per_subject is set, and the stream "
        "is not sealed."
    ),
    why="It grows until the account or the disk is full, and then every stream there is refused.",
    remedy=(
        "Set the limit that fits: an age where messages lose their worth, bytes where the disk is "
        "what matters. A limit deletes what exceeds it, at once."
    ),
    commands=(
        "nats stream edit STREAM --max-age AGE",
        "nats stream edit STREAM --max-bytes BYTES",
    ),
    find=find,
)
