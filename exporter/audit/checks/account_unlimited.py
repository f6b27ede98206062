"""An account may fill the disks of the servers."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject, Unknown
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_account
from exporter.model import AccountUsage


def find(scene: AuditContext) -> Iterator[Finding | Unknown]:
    for row in scene.accounts:
        for usage in row.usage:
            if usage.storage_unlimited is None and usage.storage_limit is None:
                reason = "the servers do not tell the limits of the account"
                yield Unknown(account=row.name, reason=reason)
            free = [name for name, unlimited in _kinds(usage) if unlimited]
            if free:
                tier = f" in tier {usage.tier}" if usage.tier else ""
                yield of_account(row, f"no limit of {' and '.join(free)}{tier}")


def _kinds(usage: AccountUsage) -> tuple[tuple[str, bool | None], ...]:
    return ("storage", usage.storage_unlimited), ("memory", usage.memory_unlimited)


CHECK = Check(
    code="account-unlimited",
    severity=Severity.INFO,
    subject=Subject.ACCOUNT,
    title="An account without a storage limit",
    meaning="The account may use all the storage or memory that the servers have.",
    condition="The servers say that the account's storage or memory is not limited.",
    why=(
        "One account that grows takes the place of all others, and everybody is refused at the "
        "same time."
    ),
    remedy=(
        "Limit the account: in the configuration of the servers as max_file and max_mem of its "
        "jetstream block, or in its JWT. Below what it uses now all its publishers are refused."
    ),
    commands=(
        "nats account info",
        "nats auth account edit ACCOUNT --js-disk DISK_BYTES --js-memory MEMORY_BYTES",
    ),
    find=find,
)
