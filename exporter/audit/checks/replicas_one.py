"""One copy where three could be had."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        servers = scene.cluster_size(row)
        if config.replicas == 1 and servers is not None and servers >= 3:
            yield of_stream(row, f"1 replica on {row.leader}, the cluster has {servers} servers")


CHECK = Check(
    code="replicas-one",
    severity=Severity.INFO,
    subject=Subject.STREAM,
    title="One replica in a cluster of three or more",
    meaning="The stream lives on one server although the cluster could hold more copies.",
    condition="The stream has one replica and its cluster has three or more servers.",
    why=(
        "While that server is down nothing can be published or read, and its disk is the only copy."
    ),
    remedy="Raise the replicas; the server copies the messages while it goes on serving.",
    commands=("nats stream edit STREAM --replicas 3",),
    find=find,
)
