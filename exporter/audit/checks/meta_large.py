"""Very many stream and consumer replicas."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext, stream_key
from exporter.audit.severity import Severity

MANY = 5_000


def find(context: AuditContext) -> Iterator[Finding]:
    if not any(row.cluster for row in context.servers):
        return
    copies = {stream_key(row): config.replicas for row, config in context.streams}
    consumers = sum(
        (row.config.replicas if row.config else 0) or copies.get((row.account, row.stream), 1)
        for row in context.snapshot.consumers
    )
    streams = sum(copies.values())
    if streams + consumers > MANY:
        yield Finding(evidence=f"{streams:,} stream replicas, {consumers:,} consumer replicas")


CHECK = Check(
    code="meta-large",
    severity=Severity.INFO,
    subject=Subject.META,
    title="Very many stream and consumer replicas",
    meaning="The meta group manages more than 5,000 replicas of streams and consumers.",
    condition="In a cluster, the replicas of all streams and consumers add up to more than 5,000.",
    why="All servers write every change. Snapshots, restarts and elections become slow.",
    remedy=(
        "Merge small streams into one with more subjects, use ordered consumers for reading only, "
        "and use fewer replicas where one is enough."
    ),
    commands=("nats server report jetstream",),
    find=find,
)
