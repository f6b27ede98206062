"""Requests to JetStream's own interface fail."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_account
from exporter.audit.units import span

ENOUGH = 100
MANY = 0.01


def find(scene: AuditContext) -> Iterator[Finding]:
    before = {row.name: row for row in scene.earlier.accounts} if scene.earlier else {}
    for row in scene.accounts:
        old = before.get(row.name)
        if old is None:
            continue
        asked, failed = (
            _since(row.api_requests, old.api_requests),
            _since(row.api_errors, old.api_errors),
        )
        if asked is None or failed is None or asked < ENOUGH or failed <= MANY * asked:
            continue
        yield of_account(
            row, f"{failed:,} of {asked:,} API requests failed in {span(scene.seconds)}"
        )


def _since(now: int | None, before: int | None) -> int | None:
    """None also when the counter began anew."""
    return None if now is None or before is None or now < before else now - before


CHECK = Check(
    code="api-errors",
    severity=Severity.INFO,
    subject=Subject.ACCOUNT,
    title="Requests to the JetStream API fail",
    meaning="Between the two looks more than one in a hundred API requests of the account failed.",
    condition="100 or more API requests between the two looks, and more than 1 % of them failed.",
    why=(
        "Some application asks for streams or consumers that are not there, or is refused; "
        "often it tries again at once, and loads the meta leader."
    ),
    remedy="Listen to the requests and their answers for a moment, and see who asks for what.",
    commands=("nats events --js-advisory",),
    needs=frozenset({Need.SECOND_LOOK}),
    find=find,
)
