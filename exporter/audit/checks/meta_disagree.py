"""Servers disagree about the meta leader."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject
from exporter.audit.context import AuditContext
from exporter.audit.severity import Severity
from exporter.audit.units import listed


def find(context: AuditContext) -> Iterator[Finding]:
    leading = [row.name for row in context.servers if row.up and row.meta_leader]
    if len(leading) > 1:
        yield Finding(evidence=f"{listed(leading)} all claim to be meta leader")
        return
    named = _named(context)
    # During an election, servers may differ for a short time.
    if len(named) > 1 and context.earlier is not None and len(_named(context.earlier)) > 1:
        yield Finding(evidence=f"different leaders in both polls: {listed(sorted(named))}")


def _named(context: AuditContext) -> frozenset[str]:
    return frozenset(
        row.meta_leader_seen for row in context.servers if row.up and row.meta_leader_seen
    )


CHECK = Check(
    code="meta-disagree",
    severity=Severity.CRIT,
    subject=Subject.META,
    title="Servers disagree about the meta leader",
    meaning=(
        "More than one server claims to be meta leader, or servers keep naming different leaders."
    ),
    condition=(
        "Two or more servers that are up report themselves as meta leader, or servers name "
        "different leaders in both polls."
    ),
    why="The cluster is split: changes on one side are unknown to the other.",
    remedy=(
        "Repair the connections between the servers first. Then check again, and let the wrong "
        "leader step down."
    ),
    commands=(
        "nats server list",
        "nats server report jetstream",
        "nats server cluster step-down",
    ),
    needs=frozenset({Need.SERVERS}),
    find=find,
)
