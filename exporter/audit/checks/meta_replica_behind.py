"""A server does not keep up with the meta group."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Severity, Subject
from exporter.audit.context import AuditContext

FAR = 500


def find(scene: AuditContext) -> Iterator[Finding]:
    now, before = _behind(scene), _behind(scene.earlier) if scene.earlier is not None else {}
    for server in sorted(now.keys() & before.keys()):
        yield Finding(server=server, evidence=f"{now[server]:,} operations behind at both looks")


def _behind(scene: AuditContext) -> dict[str, int]:
    meta = scene.snapshot.meta
    peers = meta.replicas if meta is not None else ()
    return {peer.server: peer.lag for peer in peers if peer.lag > FAR and not peer.offline}


CHECK = Check(
    code="meta-replica-behind",
    severity=Severity.WARN,
    subject=Subject.META,
    title="A server of the meta group is behind",
    meaning="A server does not keep up with the changes of the meta group.",
    condition=(
        "At both looks the same server was online and more than 500 operations behind the meta "
        "leader."
    ),
    why="It acts on an old state, and cannot lead; if another fails, changes may stop.",
    remedy=(
        "Look at the disk and the network of that server; a restart lets it catch up by a snapshot."
    ),
    commands=("nats server report jetstream",),
    needs=frozenset({Need.SECOND_LOOK}),
    find=find,
)
