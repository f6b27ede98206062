"""A large stream is not compressed."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import GIB, size

LARGE_BYTES = GIB


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        plain = config.storage == "file" and config.compression == "none"
        if plain and config.kind != "object" and row.bytes > LARGE_BYTES:
            yield stream_finding(row, f"{size(row.bytes)} on disk, uncompressed")


CHECK = Check(
    code="large-uncompressed",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="A large stream is not compressed",
    meaning="A stream of more than 1 GiB is stored without compression.",
    condition="File storage, more than 1 GiB, compression none, and not an object store.",
    why=(
        "Compressed text such as JSON uses much less disk, and backups and new replicas are faster."
    ),
    remedy=(
        "Enable S2 compression. It applies to new blocks and uses some CPU. Data that is already "
        "compressed or encrypted does not get smaller."
    ),
    commands=("nats stream edit STREAM --compression s2",),
    since="2.10",
    find=find,
)
