"""One replica in a cluster of three or more."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        servers = context.cluster_size(row)
        if config.replicas == 1 and servers is not None and servers >= 3:
            yield stream_finding(
                row, f"1 replica on {row.leader}, {servers} servers in the cluster"
            )


CHECK = Check(
    code="replicas-one",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="One replica in a cluster of three or more",
    meaning="The stream is on one server although the cluster can hold more replicas.",
    condition="The stream has one replica and its cluster has three or more servers.",
    why=(
        "While this server is down, you cannot publish or read. Its disk has the only copy of the "
        "data."
    ),
    remedy="Raise the number of replicas. The server copies the messages and stays available.",
    commands=("nats stream edit STREAM --replicas 3",),
    default=True,
    find=find,
)
