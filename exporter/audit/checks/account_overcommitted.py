"""The limits of the streams nearly use up the account's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_account
from exporter.audit.units import size

MUCH = 0.85


def find(scene: AuditContext) -> Iterator[Finding]:
    reserved: defaultdict[tuple[str, str], int] = defaultdict(int)
    for stream, config in scene.streams:
        reserved[stream.account, config.storage] += (config.max_bytes or 0) * config.replicas
    for row in scene.accounts:
        for usage in row.usage:
            limits = (("file", usage.storage_limit), ("memory", usage.memory_limit))
            for storage, limit in limits if not usage.tier else ():
                asked = reserved[row.name, storage]
                if limit and asked > MUCH * limit:
                    evidence = f"{storage} streams may grow to {size(asked)} of {size(limit)}"
                    yield of_account(row, evidence)


CHECK = Check(
    code="account-overcommitted",
    severity=Severity.WARN,
    subject=Subject.ACCOUNT,
    title="Streams have reserved nearly all that the account may use",
    meaning="The streams of the account may together grow to nearly its limit.",
    condition=(
        "In an account without tiers the sum of max_bytes times replicas exceeds 85 % of the "
        "storage or memory limit."
    ),
    why="The next stream with a max_bytes is refused, or one without gets what is left.",
    remedy=(
        "Give the account more, or the streams less; a max_bytes below what a stream holds "
        "deletes what exceeds it."
    ),
    commands=(
        "nats stream report",
        "nats auth account edit ACCOUNT --js-disk MORE_BYTES",
    ),
    find=find,
)
