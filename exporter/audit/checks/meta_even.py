"""The meta group has an even number of servers."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject
from exporter.audit.context import AuditContext
from exporter.audit.severity import Severity
from exporter.audit.units import plural


def find(context: AuditContext) -> Iterator[Finding]:
    meta = context.snapshot.meta
    if meta is not None and meta.size and meta.size % 2 == 0:
        failures = plural((meta.size - 1) // 2, "failure")
        yield Finding(evidence=f"{meta.size} servers tolerate {failures}")


CHECK = Check(
    code="meta-even",
    severity=Severity.WARN,
    subject=Subject.META,
    title="The meta group has an even number of servers",
    meaning="The meta group has an even number of servers.",
    condition="The size of the meta group is even.",
    why=(
        "It tolerates no more failures than with one server less. A split into halves leaves both "
        "sides without a quorum."
    ),
    remedy=(
        "Add a server, which is always safe. Remove only a peer that is lost permanently or holds "
        "no stream: streams with one replica on it lose all their messages."
    ),
    commands=(
        "nats server list",
        "nats stream report",
        "nats server cluster peer-remove SERVER",
    ),
    needs=frozenset({Need.SERVERS}),
    find=find,
)
