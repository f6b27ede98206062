"""The account soon may have no further consumer."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.facts.account_limits import near_limit
from exporter.model import AccountUsage

NEAR = 0.9


def find(scene: AuditContext) -> Iterator[Finding]:
    return near_limit(scene, _counted, "consumers", near=NEAR)


def _counted(usage: AccountUsage) -> tuple[int | None, int | None]:
    return usage.consumers, usage.consumers_limit


CHECK = Check(
    code="account-consumers-near-limit",
    severity=Severity.WARN,
    subject=Subject.ACCOUNT,
    title="Nearly as many consumers as the account may have",
    meaning="The account soon may have no further consumer.",
    condition=(
        "The consumers reach 90 % of the account's limit, which only the account source is told."
    ),
    why="Applications that make their consumer at start fail to start.",
    remedy=(
        "Remove what nobody uses, find out who leaves consumers behind, or raise the limit. "
        "Removing cannot be undone."
    ),
    commands=(
        "nats account info",
        "nats auth account edit ACCOUNT --js-consumers HIGHER",
    ),
    find=find,
)
