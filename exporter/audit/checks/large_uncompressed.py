"""A large stream on disk that is not compressed."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream
from exporter.audit.units import GIB, size

LARGE_BYTES = GIB


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        plain = config.storage == "file" and config.compression == "none"
        if plain and config.kind != "object" and row.bytes > LARGE_BYTES:
            yield of_stream(row, f"{size(row.bytes)} on disk, uncompressed")


CHECK = Check(
    code="large-uncompressed",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="A large stream is not compressed",
    meaning="A stream of more than 1 GiB is stored without compression.",
    condition="File storage, more than 1 GiB, compression none, and the stream is no object store.",
    why=(
        "Text such as JSON takes a fraction of the disk when compressed, and backups and new "
        "copies are faster."
    ),
    remedy=(
        "Switch S2 compression on; it applies to new blocks, and costs some CPU. Messages that "
        "are compressed or encrypted already gain nothing."
    ),
    commands=("nats stream edit STREAM --compression s2",),
    since="2.10",
    find=find,
)
