"""A server that holds a copy of the consumer is away."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.offline_peers import away
from exporter.audit.findings import of_consumer
from exporter.audit.units import listed


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, _ in scene.consumers:
        gone = away(row.replicas)
        if gone:
            copies = len(row.replicas) + 1
            yield of_consumer(row, f"{len(gone)} of {copies} replicas are away: {listed(gone)}")


CHECK = Check(
    code="consumer-replica-offline",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="A replica of the consumer is offline",
    meaning="A server that holds a copy of the consumer's position is offline.",
    condition=(
        "The consumer's leader says of a replica that it is offline, or has not heard of it for "
        "more than 60 s."
    ),
    why=(
        "With one more server away the consumer has no quorum: nothing is delivered until one "
        "is back."
    ),
    remedy=(
        "Bring the server back; if it never comes back, remove it from the cluster so that "
        "others take its place."
    ),
    commands=(
        "nats consumer info STREAM CONSUMER",
        "nats server list",
    ),
    find=find,
)
