"""The account soon may have no further consumer."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.about import of_account
from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.scene import Scene

NEAR = 0.9


def find(scene: Scene) -> Iterator[Finding]:
    for row in scene.accounts:
        for usage in row.usage:
            count, limit = usage.consumers, usage.consumers_limit
            if count is not None and limit and count >= NEAR * limit:
                yield of_account(row, f"{count:,} consumers, at most {limit:,}")


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
