"""Keys expire without a notice to watchers."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import duration


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        max_age = config.max_age_seconds
        if config.kind == "kv" and max_age is not None and not config.delete_markers:
            yield stream_finding(row, f"values expire after {duration(max_age)}, no delete markers")


CHECK = Check(
    code="kv-expiry-silent",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="Keys expire without a notice to watchers",
    meaning="Values of this bucket expire, and watchers are not notified.",
    condition="The stream is a key-value bucket with a max_age and without delete markers.",
    why="Clients that keep a copy by watching still have values that no longer exist.",
    remedy="Let the server write a delete marker when a value expires. This needs server 2.11.",
    commands=("nats kv edit BUCKET --marker-ttl 1h",),
    since="2.11",
    find=find,
)
