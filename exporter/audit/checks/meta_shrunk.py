"""The meta group has fewer servers than before."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.units import span


def find(scene: AuditContext) -> Iterator[Finding]:
    now = scene.snapshot.meta
    before = scene.earlier.snapshot.meta if scene.earlier is not None else None
    if now is None or before is None or not now.leader or not now.size or not before.size:
        return
    if now.size < before.size:
        yield Finding(evidence=f"{now.size} servers, {span(scene.seconds)} ago {before.size}")


CHECK = Check(
    code="meta-shrunk",
    severity=Severity.CRIT,
    subject=Subject.META,
    title="The meta group has shrunk",
    meaning="The meta group has fewer servers than at the look before.",
    condition="The meta leader counts fewer servers than it did at the earlier look.",
    why=(
        "Somebody removed a peer: the quorum is smaller, and a mistake here can leave one "
        "server deciding alone."
    ),
    remedy=(
        "Find out who removed the server. If it was not meant, bring it back; a server that was "
        "removed a moment ago is not taken again at once."
    ),
    commands=("nats server list",),
    needs=frozenset({Need.SECOND_LOOK}),
    find=find,
)
