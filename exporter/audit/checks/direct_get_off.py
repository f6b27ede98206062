"""Only the leader answers who asks for a message."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        if config.replicas > 1 and not config.allow_direct and not config.mirror:
            yield of_stream(row, f"{config.replicas} replicas, allow_direct false")


CHECK = Check(
    code="direct-get-off",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="Only the leader answers reads of single messages",
    meaning="Reads of single messages all go to the leader, although there are other copies.",
    condition="More than one replica, direct gets are not allowed, and the stream is no mirror.",
    why="Reading loads the leader alone, and fails while there is none.",
    remedy="Allow direct gets, if readers can live with a copy that may be a moment behind.",
    commands=("nats stream edit STREAM --allow-direct",),
    find=find,
)
