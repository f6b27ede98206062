"""What was acknowledged may not be on the disk yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_server
from exporter.audit.units import some, span


def find(scene: AuditContext) -> Iterator[Finding]:
    single = Counter(
        row.leader
        for row, config in scene.streams
        if config.storage == "file" and config.replicas == 1
    )
    for server in scene.servers:
        count = single[server.name]
        if server.sync_always is False and count:
            every = server.sync_interval_seconds
            often = f"every {span(every)}" if every else "now and then"
            streams = some(count, "stream")
            yield of_server(server, f"{streams} with one copy, the disk is synced {often}")


CHECK = Check(
    code="sync-gap",
    severity=Severity.INFO,
    subject=Subject.SERVER,
    title="Single copies are not written through to the disk",
    meaning=(
        "This server leads streams with one replica and acknowledges before the disk has the "
        "message."
    ),
    condition="sync_always is off, and the server leads streams on disk with one replica.",
    why=(
        "A power failure loses what was acknowledged since the last sync, and there is no other "
        "copy."
    ),
    remedy=(
        "Use three replicas, or switch sync_always on in the jetstream block of the server, "
        "which makes publishing much slower."
    ),
    commands=("nats stream edit STREAM --replicas 3",),
    needs=frozenset({Need.SERVERS}),
    since="2.10",
    find=find,
)
