"""Not as many copies as the configuration says."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream
from exporter.audit.units import some


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        peers = len(row.replicas) + 1
        clustered = config.replicas > 1 or row.replicas
        if clustered and peers != config.replicas:
            yield of_stream(row, f"{some(peers, 'peer')}, num_replicas {config.replicas}")


CHECK = Check(
    code="raft-peers",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="Not as many copies as configured",
    meaning="The Raft group of the stream has more or fewer peers than its configuration says.",
    condition="The stream is clustered, and its peers, leader included, differ from num_replicas.",
    why=(
        "With fewer it survives fewer failures than meant; with more a move was never finished, "
        "and it costs more than meant."
    ),
    remedy=(
        "Look at the peers; a move that hangs ends when the servers it needs are there. A peer "
        "that never comes back is removed, and the server picks another one. peer-remove is only "
        "for streams with 3 or more replicas; with one replica it deletes all its messages."
    ),
    commands=(
        "nats stream info STREAM",
        "nats stream cluster peer-remove STREAM PEER",
    ),
    find=find,
)
