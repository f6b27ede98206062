"""Messages are large."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import MIB, size

LARGE_BYTES = MIB


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        if config.kind == "object" or row.messages == 0:
            continue
        average = row.bytes / row.messages
        if average > LARGE_BYTES:
            yield stream_finding(row, f"{size(average)} on average of {row.messages:,} messages")


CHECK = Check(
    code="messages-large",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="Messages are large",
    meaning="The messages of this stream are larger than 1 MiB on average.",
    condition="The average message is larger than 1 MiB, and the stream is not an object store.",
    why=(
        "Each message is sent to all replicas and consumers as a whole. It fills client buffers "
        "and delays other messages."
    ),
    remedy="Store the large data in an object store and publish its name.",
    commands=(
        "nats stream info STREAM",
        "nats object put BUCKET FILE",
    ),
    find=find,
)
