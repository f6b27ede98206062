"""The number of replicas differs from the owner's expectation."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import stream_finding
from exporter.audit.severity import Severity
from exporter.audit.units import plural


def find(context: AuditContext) -> Iterator[Finding]:
    for row, config in context.streams:
        expected = config.thresholds.limit("peer-expect")
        peers = len(row.replicas) + 1
        if expected is not None and peers != expected:
            yield stream_finding(row, f"{plural(peers, 'peer')}, peer-expect {expected:,.0f}")


CHECK = Check(
    code="peers-unexpected",
    severity=Severity.WARN,
    subject=Subject.STREAM,
    title="The number of replicas differs from the owner's expectation",
    meaning="The stream has more or fewer peers than its metadata expects.",
    condition=(
        "The metadata key io.nats.monitor.peer-expect is set and differs from the number of "
        "peers, including the leader."
    ),
    why="A replica is missing, or the replicas were changed without the owner.",
    remedy=(
        "Set the replicas to the expected number, or correct the metadata. Fewer replicas delete "
        "data on the removed peers."
    ),
    commands=(
        "nats stream info STREAM",
        "nats stream edit STREAM --replicas EXPECTED",
    ),
    since="2.10",
    find=find,
)
