"""One server is full while another has free storage."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import server_finding
from exporter.audit.severity import Severity
from exporter.audit.units import percent

FULL = 0.9
APART = 0.3


def find(context: AuditContext) -> Iterator[Finding]:
    for servers in context.servers_by_cluster.values():
        used = {
            row.name: row.storage_used / row.storage_max
            for row in servers
            if row.up and row.storage_used is not None and row.storage_max
        }
        emptiest = min(used, key=lambda name: used[name], default="")
        for row in servers:
            if used.get(row.name, 0) >= FULL and used[row.name] - used[emptiest] >= APART:
                evidence = f"{percent(used[row.name])} full, {emptiest} {percent(used[emptiest])}"
                yield server_finding(row, evidence)


CHECK = Check(
    code="storage-full-uneven",
    severity=Severity.WARN,
    subject=Subject.SERVER,
    title="One server is full while another has free storage",
    meaning="This server has little storage left while another one of its cluster has plenty.",
    condition=(
        "It uses 90 % or more of its storage limit, and another server of the cluster uses at "
        "least 30 percentage points less."
    ),
    why="Streams with a replica here reject messages, although the cluster has free storage.",
    remedy=(
        "Move large streams to the other server with placement tags: the server copies the data "
        "first and removes it afterwards. From then on, every replica needs a server with this "
        "tag. Use peer-remove only for streams with 3 or more replicas: with one replica it "
        "deletes all its messages."
    ),
    commands=(
        "nats server report jetstream",
        "nats stream edit STREAM --tag TAG",
        "nats stream cluster peer-remove STREAM SERVER",
    ),
    needs=frozenset({Need.SERVERS}),
    find=find,
)
