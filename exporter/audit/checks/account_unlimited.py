"""The account has no storage limit."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject, Unknown
from exporter.audit.context import AuditContext
from exporter.audit.findings import account_finding
from exporter.audit.severity import Severity
from exporter.model import AccountUsage


def find(context: AuditContext) -> Iterator[Finding | Unknown]:
    for row in context.accounts:
        for usage in row.usage:
            if usage.storage_unlimited is None and usage.storage_limit is None:
                reason = "the servers do not report the limits of the account"
                yield Unknown(account=row.name, reason=reason)
            unlimited_kinds = [name for name, unlimited in _kinds(usage) if unlimited]
            if unlimited_kinds:
                tier = f" in tier {usage.tier}" if usage.tier else ""
                yield account_finding(row, f"no {' and no '.join(unlimited_kinds)} limit{tier}")


def _kinds(usage: AccountUsage) -> tuple[tuple[str, bool | None], ...]:
    return ("storage", usage.storage_unlimited), ("memory", usage.memory_unlimited)


CHECK = Check(
    code="account-unlimited",
    severity=Severity.INFO,
    subject=Subject.ACCOUNT,
    title="The account has no storage limit",
    meaning="The account can use all storage or memory of the servers.",
    condition="The servers report that the account's storage or memory is not limited.",
    why=(
        "One growing account can use up the storage of all accounts. Then all publishers are "
        "rejected at the same time."
    ),
    remedy=(
        "Limit the account with max_file and max_mem in its jetstream block of the server "
        "configuration, or in its JWT. A limit below the current usage rejects all publishers of "
        "the account."
    ),
    commands=(
        "nats account info",
        "nats auth account edit ACCOUNT --js-disk DISK_BYTES --js-memory MEMORY_BYTES",
    ),
    default=True,
    find=find,
)
