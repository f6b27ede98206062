"""Very many copies of streams and consumers."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext, stream_key

MANY = 5_000


def find(scene: AuditContext) -> Iterator[Finding]:
    if not any(row.cluster for row in scene.servers):
        return
    copies = {stream_key(row): config.replicas for row, config in scene.streams}
    consumers = sum(
        (row.config.replicas if row.config else 0) or copies.get((row.account, row.stream), 1)
        for row in scene.snapshot.consumers
    )
    streams = sum(copies.values())
    if streams + consumers > MANY:
        yield Finding(evidence=f"{streams:,} copies of streams, {consumers:,} of consumers")


CHECK = Check(
    code="meta-large",
    severity=Severity.INFO,
    subject=Subject.META,
    title="Very many streams and consumers",
    meaning="The meta group takes care of more than 5,000 copies of streams and consumers.",
    condition="In a cluster the replicas of all streams and consumers together exceed 5,000.",
    why=(
        "Every change is written by all servers, snapshots and restarts get slow, and elections "
        "take longer."
    ),
    remedy=(
        "Join small streams into one with more subjects, use ordered consumers for reading "
        "along, and use fewer replicas where one is enough."
    ),
    commands=("nats server report jetstream",),
    find=find,
)
