"""The meta group has shrunk."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject
from exporter.audit.context import AuditContext
from exporter.audit.severity import Severity
from exporter.audit.units import duration


def find(context: AuditContext) -> Iterator[Finding]:
    now = context.snapshot.meta
    before = context.earlier.snapshot.meta if context.earlier is not None else None
    if now is None or before is None or not now.leader or not now.size or not before.size:
        return
    if now.size < before.size:
        yield Finding(
            evidence=f"{now.size} servers, {before.size} servers {duration(context.seconds)} ago"
        )


CHECK = Check(
    code="meta-shrunk",
    severity=Severity.CRIT,
    subject=Subject.META,
    title="The meta group has shrunk",
    meaning="The meta group has fewer servers than in the earlier poll.",
    condition="The meta leader reports fewer servers than in the earlier poll.",
    why=(
        "A peer was removed, so the quorum is smaller. Further removals can leave one server to "
        "decide alone."
    ),
    remedy=(
        "Find out who removed the server. If it was not intended, add it again. A server that was "
        "just removed is not accepted immediately."
    ),
    commands=("nats server list",),
    needs=frozenset({Need.SECOND_POLL}),
    find=find,
)
