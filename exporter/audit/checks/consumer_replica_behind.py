"""A replica of the consumer is behind."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import consumer_finding
from exporter.audit.severity import Severity
from exporter.model import Consumer

FAR = 1_000


def find(context: AuditContext) -> Iterator[Finding]:
    for row, _ in context.consumers:
        behind = _behind(row)
        before = context.earlier_consumer(row) if behind else None
        lasting = behind.keys() & _behind(before).keys() if before else ()
        for server in sorted(lasting):
            yield consumer_finding(
                row, f"{server} is {behind[server]:,} operations behind in both polls"
            )


def _behind(row: Consumer) -> dict[str, int]:
    return {peer.server: peer.lag for peer in row.replicas if peer.lag > FAR and not peer.offline}


CHECK = Check(
    code="consumer-replica-behind",
    severity=Severity.WARN,
    subject=Subject.CONSUMER,
    title="A replica of the consumer is behind",
    meaning="A replica of the consumer does not keep up with its leader.",
    condition="In both polls, the same replica was online and more than 1,000 operations behind.",
    why=(
        "If the leader fails, this replica cannot take over at once, and the election may take "
        "longer."
    ),
    remedy=(
        "Check the disk and the network of this server. If only this group is behind, a new "
        "leader helps."
    ),
    commands=(
        "nats consumer info STREAM CONSUMER",
        "nats consumer cluster step-down STREAM CONSUMER",
    ),
    needs=frozenset({Need.SECOND_POLL}),
    find=find,
)
