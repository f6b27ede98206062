"""A server of the meta group is offline."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.offline_peers import offline_servers
from exporter.audit.severity import Severity
from exporter.audit.units import listed


def find(context: AuditContext) -> Iterator[Finding]:
    meta = context.snapshot.meta
    offline = offline_servers(meta.replicas) if meta is not None else ()
    if meta is not None and offline:
        total = meta.size or len(meta.replicas) + 1
        yield Finding(evidence=f"{len(offline)} of {total} servers offline: {listed(offline)}")


CHECK = Check(
    code="meta-offline",
    severity=Severity.CRIT,
    subject=Subject.META,
    title="A server of the meta group is offline",
    meaning=(
        "The meta leader reports a server of the group as offline, or as inactive for a minute."
    ),
    condition="A peer of the meta group is offline, or inactive for more than 60 s.",
    why=(
        "One more failure may stop all changes in the cluster. Streams with a replica there have "
        "one replica less."
    ),
    remedy=(
        "Start the server again. Remove the peer only if the server is lost permanently. Streams "
        "with 3 or more replicas then get a new replica elsewhere, but those with one replica on "
        "it lose all their messages, so save its disk first."
    ),
    commands=(
        "nats server list",
        "nats stream report",
        "nats server cluster peer-remove SERVER",
    ),
    needs=frozenset({Need.SERVERS}),
    find=find,
)
