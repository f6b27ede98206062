"""A copy of the consumer does not keep up."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_consumer
from exporter.model import Consumer

FAR = 1_000


def find(scene: AuditContext) -> Iterator[Finding]:
    for row, _ in scene.consumers:
        behind = _behind(row)
        before = scene.consumer_before(row) if behind else None
        lasting = behind.keys() & _behind(before).keys() if before else ()
        for server in sorted(lasting):
            yield of_consumer(
                row, f"{server} is {behind[server]:,} operations behind at both looks"
            )


def _behind(row: Consumer) -> dict[str, int]:
    return {peer.server: peer.lag for peer in row.replicas if peer.lag > FAR and not peer.offline}


CHECK = Check(
    code="consumer-replica-behind",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="A replica of the consumer is behind",
    meaning="A copy of the consumer's position does not keep up with its leader.",
    condition="At both looks the same replica was online and more than 1,000 operations behind.",
    why="If the leader fails, that copy cannot take over at once, and an election may take longer.",
    remedy=(
        "Look at the disk and the network of that server; when only this group is behind, a new "
        "leader helps."
    ),
    commands=(
        "nats consumer info STREAM CONSUMER",
        "nats consumer cluster step-down STREAM CONSUMER",
    ),
    needs=frozenset({Need.SECOND_LOOK}),
    find=find,
)
