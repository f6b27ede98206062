"""An even number of servers bears no more failures than one less."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.units import some


def find(scene: AuditContext) -> Iterator[Finding]:
    meta = scene.snapshot.meta
    if meta is not None and meta.size and meta.size % 2 == 0:
        borne = some((meta.size - 1) // 2, "failure")
        yield Finding(evidence=f"{meta.size} servers survive {borne}")


CHECK = Check(
    code="meta-even",
    severity=Severity.WARN,
    subject=Subject.META,
    title="An even number of servers in the meta group",
    meaning="The meta group has an even number of servers.",
    condition="The size of the meta group is even.",
    why=(
        "It survives no more failures than with one server less, and a split into halves leaves "
        "neither with a quorum."
    ),
    remedy=(
        "Add a server, which is always safe. Remove as a peer only a server that is gone for good "
        "or that holds no stream any more: streams with one replica on it lose all their "
        "messages."
    ),
    commands=(
        "nats server list",
        "nats stream report",
        "nats server cluster peer-remove SERVER",
    ),
    needs=frozenset({Need.SERVERS}),
    find=find,
)
