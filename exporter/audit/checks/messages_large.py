"""Messages of a megabyte on average."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream
from exporter.audit.units import MIB, size

LARGE_BYTES = MIB


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        if config.kind == "object" or row.messages == 0:
            continue
        average = row.bytes / row.messages
        if average > LARGE_BYTES:
            yield of_stream(row, f"{size(average)} on average over {row.messages:,} messages")


CHECK = Check(
    code="messages-large",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="Messages are large",
    meaning="The messages of this stream are larger than 1 MiB on average.",
    condition="The stream holds messages, their average is above 1 MiB, and it is no object store.",
    why=(
        "Each is copied to all replicas and all consumers as one piece, fills the buffers of "
        "clients and makes others wait."
    ),
    remedy="Keep the large part in an object store and publish its name.",
    commands=(
        "nats stream info STREAM",
        "nats object put BUCKET FILE",
    ),
    find=find,
)
