"""A replica of the consumer is offline."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.offline_peers import offline_servers
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity
from exporter.audit.units import listed


def find(context: AuditContext) -> Iterator[Finding]:
    for row, _ in context.consumers:
        offline = offline_servers(row.replicas)
        if offline:
            replicas = len(row.replicas) + 1
            yield consumer_finding(
                row, f"{len(offline)} of {replicas} replicas offline: {listed(offline)}"
            )


CHECK = Check(
    code="consumer-replica-offline",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="A replica of the consumer is offline",
    meaning="A server with a replica of the consumer is offline.",
    condition=(
        "The leader of the consumer reports a replica as offline, or as inactive for more than 60 "
        "s."
    ),
    why="If another server fails, the consumer loses its quorum and delivers nothing.",
    remedy=(
        "Start the server again. If it is lost permanently, remove it from the cluster, so that "
        "other servers take over its replicas."
    ),
    commands=(
        "nats consumer info STREAM CONSUMER",
        "nats server list",
    ),
    find=find,
)
