"""The account is near its limit of streams."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.account_limits import accounts_near_limit
from exporter.audit.severity import Severity
from exporter.model import AccountUsage

NEAR = 0.9


def find(context: AuditContext) -> Iterator[Finding]:
    return accounts_near_limit(context, _counted, "streams", near=NEAR)


def _counted(usage: AccountUsage) -> tuple[int | None, int | None]:
    return usage.streams, usage.streams_limit


CHECK = Check(
    code="account-streams-near-limit",
    severity=Severity.WARN,
    subject=Subject.ACCOUNT,
    title="The account is near its limit of streams",
    meaning="The account can soon create no more streams.",
    condition=(
        "The number of streams is at least 90 % of the account's limit. Only the account source "
        "reports the limit."
    ),
    why="Applications that create their stream at startup fail to start.",
    remedy="Remove unused streams, or raise the limit. Deleted streams cannot be restored.",
    commands=(
        "nats account info",
        "nats auth account edit ACCOUNT --js-streams HIGHER",
    ),
    find=find,
)
