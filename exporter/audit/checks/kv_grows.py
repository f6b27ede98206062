"""Deleted keys leave their markers behind for ever."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream

MANY = 100_000


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        if config.kind == "kv" and config.max_age_seconds is None and row.deleted > MANY:
            yield of_stream(
                row, f"{row.deleted:,} deleted among {row.messages:,} messages, no max_age"
            )


CHECK = Check(
    code="kv-grows",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="A bucket keeps the traces of what was deleted",
    meaning="A key-value bucket without an age has very many deleted messages between its values.",
    condition=(
        "The stream is a key-value bucket without max_age and has more than 100,000 interior "
        "deletes."
    ),
    why=(
        "Each change leaves a gap that the server remembers: starts, snapshots and copies get "
        "slower."
    ),
    remedy=(
        "Compacting removes the markers of deleted keys. A time to live lets old values and "
        "markers go by themselves (the marker time needs 2.11), but it deletes what exceeds it: "
        "every value that was not written again for that long, also those still in use."
    ),
    commands=(
        "nats kv compact BUCKET",
        "nats kv edit BUCKET --ttl AGE --marker-ttl 1h",
    ),
    find=find,
)
