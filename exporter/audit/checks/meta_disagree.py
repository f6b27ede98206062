"""Two servers hold themselves for the meta leader."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.units import listed


def find(scene: AuditContext) -> Iterator[Finding]:
    leading = [row.name for row in scene.servers if row.up and row.meta_leader]
    if len(leading) > 1:
        yield Finding(evidence=f"{listed(leading)} all say that they lead")
        return
    named = _named(scene)
    # During an election servers differ for a moment; only what lasts is a split.
    if len(named) > 1 and scene.earlier is not None and len(_named(scene.earlier)) > 1:
        yield Finding(evidence=f"named as leader at both looks: {listed(sorted(named))}")


def _named(scene: AuditContext) -> frozenset[str]:
    return frozenset(
        row.meta_leader_seen for row in scene.servers if row.up and row.meta_leader_seen
    )


CHECK = Check(
    code="meta-disagree",
    severity=Severity.CRIT,
    subject=Subject.META,
    title="Servers disagree about the meta leader",
    meaning=(
        "More than one server leads the meta group by its own account, or servers keep naming "
        "different ones."
    ),
    condition=(
        "Two or more servers that are up say that they lead, or the leaders that servers name "
        "differ at both looks."
    ),
    why="The cluster is split: what one side changes the other does not know.",
    remedy=(
        "Repair the connections between the servers first; then look again, and let the wrong "
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
