"""The storage limit of one server is much lower."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import server_finding
from exporter.audit.severity import Severity
from exporter.audit.units import size

HALF = 0.5


def find(context: AuditContext) -> Iterator[Finding]:
    for servers in context.servers_by_cluster.values():
        largest = max((row.storage_max or 0 for row in servers), default=0)
        for row in servers:
            if row.storage_max is not None and row.storage_max < HALF * largest:
                evidence = (
                    f"storage limit {size(row.storage_max)}, largest in the cluster {size(largest)}"
                )
                yield server_finding(row, evidence)


CHECK = Check(
    code="storage-limit-uneven",
    severity=Severity.INFO,
    subject=Subject.SERVER,
    title="The storage limit of one server is much lower",
    meaning="This server's storage limit is less than half of another one's in its cluster.",
    condition="The storage limit is below half of the largest in the same cluster.",
    why="Streams with a replica on every server can only grow to the smallest limit.",
    remedy=(
        "Set the same limit on all servers of a cluster, or use placement tags to keep large "
        "streams off this server."
    ),
    commands=("nats server report jetstream",),
    needs=frozenset({Need.SERVERS}),
    find=find,
)
