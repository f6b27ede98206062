"""One server may store much less than the others."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_server
from exporter.audit.units import size

HALF = 0.5


def find(scene: AuditContext) -> Iterator[Finding]:
    for servers in scene.servers_by_cluster.values():
        largest = max((row.storage_max or 0 for row in servers), default=0)
        for row in servers:
            if row.storage_max is not None and row.storage_max < HALF * largest:
                evidence = f"may store {size(row.storage_max)}, another one {size(largest)}"
                yield of_server(row, evidence)


CHECK = Check(
    code="storage-limit-uneven",
    severity=Severity.INFO,
    subject=Subject.SERVER,
    title="One server may store much less than another",
    meaning="This server's storage limit is less than half of another one's in its cluster.",
    condition="The storage limit is below half of the largest in the same cluster.",
    why="Streams with a copy on every server can only grow to what the smallest holds.",
    remedy=(
        "Give all servers of a cluster the same limit, or keep large streams off the small one "
        "by tags."
    ),
    commands=("nats server report jetstream",),
    needs=frozenset({Need.SERVERS}),
    find=find,
)
