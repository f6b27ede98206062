"""Streams with one replica are not synced on every write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import server_finding
from exporter.audit.severity import Severity
from exporter.audit.units import duration, plural


def find(context: AuditContext) -> Iterator[Finding]:
    single = Counter(
        row.leader
        for row, config in context.streams
        if config.storage == "file" and config.replicas == 1
    )
    for server in context.servers:
        count = single[server.name]
        if server.sync_always is False and count:
            every = server.sync_interval_seconds
            often = f"every {duration(every)}" if every else "periodically"
            streams = plural(count, "stream")
            yield server_finding(server, f"{streams} with one replica, synced {often}")


CHECK = Check(
    code="sync-gap",
    severity=Severity.INFO,
    subject=Subject.SERVER,
    title="Streams with one replica are not synced on every write",
    meaning=(
        "This server leads streams with one replica and acknowledges messages before they are on "
        "the disk."
    ),
    condition="sync_always is off, and the server leads streams with file storage and one replica.",
    why="A power failure loses the messages since the last sync, and there is no other replica.",
    remedy=(
        "Use three replicas, or set sync_always in the jetstream block of the server. It makes "
        "publishing much slower."
    ),
    commands=("nats stream edit STREAM --replicas 3",),
    needs=frozenset({Need.SERVERS}),
    since="2.10",
    default=True,
    find=find,
)
