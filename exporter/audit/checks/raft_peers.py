"""The number of replicas differs from the configuration."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import plural


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        peers = len(row.replicas) + 1
        clustered = config.replicas > 1 or row.replicas
        if clustered and peers != config.replicas:
            yield stream_finding(row, f"{plural(peers, 'peer')}, num_replicas {config.replicas}")


CHECK = Check(
    code="raft-peers",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="The number of replicas differs from the configuration",
    meaning="The Raft group of the stream has more or fewer peers than configured.",
    condition=(
        "The stream is clustered, and its number of peers, including the leader, differs from "
        "num_replicas."
    ),
    why=(
        "With fewer peers the stream tolerates fewer failures. With more peers, a move is not "
        "finished and uses extra resources."
    ),
    remedy=(
        "Check the peers. An unfinished move ends when the required servers are online. Remove a "
        "peer that is lost permanently; the server selects a new one. Use peer-remove only for "
        "streams with 3 or more replicas: with one replica it deletes all its messages."
    ),
    commands=(
        "nats stream info STREAM",
        "nats stream cluster peer-remove STREAM PEER",
    ),
    find=find,
)
