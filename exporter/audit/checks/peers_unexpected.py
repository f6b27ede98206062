"""Not as many copies as the owner expects."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_stream
from exporter.audit.units import some


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, config in scene.streams:
        expected = config.thresholds.limit("peer-expect")
        peers = len(row.replicas) + 1
        if expected is not None and peers != expected:
            yield of_stream(row, f"{some(peers, 'peer')}, the owner expects {expected:,.0f}")


CHECK = Check(
    code="peers-unexpected",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="Not as many copies as the owner expects",
    meaning="The stream has more or fewer peers than its owner wrote into its metadata.",
    condition=(
        "The metadata key io.nats.monitor.peer-expect is set and differs from the number of "
        "peers, leader included."
    ),
    why="Either a copy is missing, or somebody changed the replicas without telling the owner.",
    remedy=(
        "Set the replicas to what is expected, or correct the metadata. Fewer replicas delete "
        "copies."
    ),
    commands=(
        "nats stream info STREAM",
        "nats stream edit STREAM --replicas EXPECTED",
    ),
    since="2.10",
    find=find,
)
