"""The account is near its limit of consumers."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.account_limits import accounts_near_limit
from exporter.audit.severity import Severity
from exporter.model import AccountUsage

NEAR = 0.9


def find(context: AuditContext) -> Iterator[Finding]:
    return accounts_near_limit(context, _counted, "consumers", near=NEAR)


def _counted(usage: AccountUsage) -> tuple[int | None, int | None]:
    return usage.consumers, usage.consumers_limit


CHECK = Check(
    code="account-consumers-near-limit",
    severity=Severity.WARN,
    subject=Subject.ACCOUNT,
    title="The account is near its limit of consumers",
    meaning="The account can soon create no more consumers.",
    condition=(
        "The number of consumers is at least 90 % of the account's limit. Only the account source "
        "reports the limit."
    ),
    why="Applications that create their consumer at startup fail to start.",
    remedy=(
        "Remove unused consumers, find the client that leaves consumers behind, or raise the "
        "limit. Deleted consumers cannot be restored."
    ),
    commands=(
        "nats account info",
        "nats auth account edit ACCOUNT --js-consumers HIGHER",
    ),
    find=find,
)
