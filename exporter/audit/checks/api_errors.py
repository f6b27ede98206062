"""JetStream API requests fail."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Need, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import account_finding
from exporter.audit.severity import Severity
from exporter.audit.units import duration

ENOUGH = 100
MANY = 0.01


def find(context: AuditContext) -> Iterator[Finding]:
    before = {row.name: row for row in context.earlier.accounts} if context.earlier else {}
    for row in context.accounts:
        old = before.get(row.name)
        if old is None:
            continue
        requests, failed = (
            _since(row.api_requests, old.api_requests),
            _since(row.api_errors, old.api_errors),
        )
        if requests is None or failed is None or requests < ENOUGH or failed <= MANY * requests:
            continue
        yield account_finding(
            row, f"{failed:,} of {requests:,} API requests failed in {duration(context.seconds)}"
        )


def _since(now: int | None, before: int | None) -> int | None:
    """None if unknown or if the counter was reset."""
    return None if now is None or before is None or now < before else now - before


CHECK = Check(
    code="api-errors",
    severity=Severity.INFO,
    subject=Subject.ACCOUNT,
    title="JetStream API requests fail",
    meaning="More than 1 % of the account's API requests failed between two polls.",
    condition="100 or more API requests between the two polls, and more than 1 % of them failed.",
    why=(
        "An application requests streams or consumers that do not exist, or lacks permissions. "
        "Immediate retries load the meta leader."
    ),
    remedy="Watch API requests and responses for a short time to find the client.",
    commands=("nats events --js-advisory",),
    needs=frozenset({Need.SECOND_POLL}),
    find=find,
)
