"""Streams reserve nearly all storage of the account."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import account_finding
from exporter.audit.severity import Severity
from exporter.audit.units import size

MUCH = 0.85


def find(context: AuditContext) -> Iterator[Finding]:
    reserved: defaultdict[tuple[str, str], int] = defaultdict(int)
    for stream, config in context.streams:
        reserved[stream.account, config.storage] += (config.max_bytes or 0) * config.replicas
    for row in context.accounts:
        for usage in row.usage:
            limits = (("file", usage.storage_limit), ("memory", usage.memory_limit))
            for storage, limit in limits if not usage.tier else ():
                total = reserved[row.name, storage]
                if limit and total > MUCH * limit:
                    evidence = f"max_bytes of {storage} streams: {size(total)} of {size(limit)}"
                    yield account_finding(row, evidence)


CHECK = Check(
    code="account-overcommitted",
    severity=Severity.WARN,
    subject=Subject.ACCOUNT,
    title="Streams reserve nearly all storage of the account",
    meaning="The max_bytes of the account's streams add up to nearly its limit.",
    condition=(
        "In an account without tiers, the sum of max_bytes times replicas exceeds 85 % of the "
        "storage or memory limit."
    ),
    why=(
        "The server rejects the next stream with a max_bytes. A stream without one gets only the "
        "remaining storage."
    ),
    remedy=(
        "Raise the limit of the account or lower max_bytes of its streams. A max_bytes below the "
        "size of a stream deletes what exceeds it."
    ),
    commands=(
        "nats stream report",
        "nats auth account edit ACCOUNT --js-disk MORE_BYTES",
    ),
    find=find,
)
