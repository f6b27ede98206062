"""One server is full while another has room."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_server
from exporter.audit.units import share

FULL = 0.9
APART = 0.3


def find(scene: AuditContext) -> Iterator[Finding]:
    for servers in scene.servers_by_cluster.values():
        used = {
            row.name: row.storage_used / row.storage_max
            for row in servers
            if row.up and row.storage_used is not None and row.storage_max
        }
        emptiest = min(used, key=lambda name: used[name], default="")
        for row in servers:
            if used.get(row.name, 0) >= FULL and used[row.name] - used[emptiest] >= APART:
                evidence = f"{share(used[row.name])} full, {emptiest} {share(used[emptiest])}"
                yield of_server(row, evidence)


CHECK = Check(
    code="storage-full-uneven",
    severity=Severity.WARN,
    subject=Subject.SERVER,
    title="One server is full while another has room",
    meaning="This server has nearly no storage left while another one of its cluster has plenty.",
    condition=(
        "It uses 90 % or more of its storage limit, and another server of the cluster uses at "
        "least 30 percent points less."
    ),
    why="Streams with a copy here are refused although the cluster as a whole has room.",
    remedy=(
        "Move large streams to the server with room by placement tags: the server copies first "
        "and removes afterwards, and from then on every copy needs a server with that tag. peer- "
        "remove is only for streams with 3 or more replicas; with one replica it deletes all its "
        "messages."
    ),
    commands=(
        "nats server report jetstream",
        "nats stream edit STREAM --tag TAG",
        "nats stream cluster peer-remove STREAM SERVER",
    ),
    needs=frozenset({Need.SERVERS}),
    find=find,
)
