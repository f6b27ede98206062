"""Keys expire, and watchers do not hear of it."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream
from exporter.audit.units import span


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        kept = config.max_age_seconds
        if config.kind == "kv" and kept is not None and not config.delete_markers:
            yield of_stream(row, f"values expire after {span(kept)}, no delete markers")


CHECK = Check(
    code="kv-expiry-silent",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="Keys expire without a word to watchers",
    meaning="Values of this bucket expire and nobody who watches it is told.",
    condition="The stream is a key-value bucket with a max_age and without delete markers.",
    why="Whoever keeps a copy by watching keeps values that no longer exist.",
    remedy="Let the server write a marker where a value expired, since 2.11.",
    commands=("nats kv edit BUCKET --marker-ttl 1h",),
    since="2.11",
    find=find,
)
