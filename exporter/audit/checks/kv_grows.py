"""A bucket has very many interior deletes."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity

MANY = 100_000


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        if config.kind == "kv" and config.max_age_seconds is None and row.deleted > MANY:
            yield stream_finding(
                row, f"{row.deleted:,} deleted among {row.messages:,} messages, no max_age"
            )


CHECK = Check(
    code="kv-grows",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="A bucket has very many interior deletes",
    meaning="A key-value bucket without max_age has very many deleted messages between its values.",
    condition=(
        "The stream is a key-value bucket without max_age and has more than 100,000 interior "
        "deletes."
    ),
    why=(
        "Each change of a value leaves a deleted sequence that the server tracks. Starts, "
        "snapshots and replication become slower."
    ),
    remedy=(
        "Compact the bucket to remove the markers of deleted keys. A TTL removes old values and "
        "markers automatically (the marker TTL needs 2.11), but it deletes what exceeds it: every "
        "value that was not written for this time, also if it is in use."
    ),
    commands=(
        "nats kv compact BUCKET",
        "nats kv edit BUCKET --ttl AGE --marker-ttl 1h",
    ),
    find=find,
)
