"""A server of the meta group is away."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.offline_peers import away
from exporter.audit.units import listed


def find(scene: AuditContext) -> Iterator[Finding]:
    meta = scene.snapshot.meta
    gone = away(meta.replicas) if meta is not None else ()
    if meta is not None and gone:
        of = meta.size or len(meta.replicas) + 1
        yield Finding(evidence=f"{len(gone)} of {of} are away: {listed(gone)}")


CHECK = Check(
    code="meta-offline",
    severity=Severity.CRIT,
    subject=Subject.META,
    title="A server of the meta group is away",
    meaning=(
        "The meta leader says that a server of the group is offline, or has not heard of it for "
        "a minute."
    ),
    condition="A peer of the meta group is offline, or silent for more than 60 s.",
    why=(
        "One more failure may stop every change in the cluster, and streams with a copy there "
        "have one copy less."
    ),
    remedy=(
        "Bring the server back. Only if it never comes back remove it as a peer: streams with 3 "
        "or more replicas get another copy elsewhere, but those with one replica on it lose all "
        "their messages, so take its disk into safety first."
    ),
    commands=(
        "nats server list",
        "nats stream report",
        "nats server cluster peer-remove SERVER",
    ),
    needs=frozenset({Need.SERVERS}),
    find=find,
)
