"""A server of the meta group is behind."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject
from exporter.audit.context import AuditContext
from exporter.audit.severity import Severity

FAR = 500


def find(context: AuditContext) -> Iterator[Finding]:
    now, before = _behind(context), _behind(context.earlier) if context.earlier is not None else {}
    for server in sorted(now.keys() & before.keys()):
        yield Finding(server=server, evidence=f"{now[server]:,} operations behind in both polls")


def _behind(context: AuditContext) -> dict[str, int]:
    meta = context.snapshot.meta
    peers = meta.replicas if meta is not None else ()
    return {peer.server: peer.lag for peer in peers if peer.lag > FAR and not peer.offline}


CHECK = Check(
    code="meta-replica-behind",
    severity=Severity.WARN,
    subject=Subject.META,
    title="A server of the meta group is behind",
    meaning="A server does not keep up with the changes of the meta group.",
    condition=(
        "In both polls, the same server was online and more than 500 operations behind the meta "
        "leader."
    ),
    why="It uses an old state and cannot lead. If another server fails, changes may stop.",
    remedy=(
        "Check the disk and the network of this server. After a restart it catches up from a "
        "snapshot."
    ),
    commands=("nats server report jetstream",),
    needs=frozenset({Need.SECOND_POLL}),
    find=find,
)
