"""The account soon may have no further stream."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.audit.about import of_account
from exporter.audit.check import Check, Finding, Severity, Subject
from exporter.audit.scene import Scene

NEAR = 0.9


def find(scene: Scene) -> Iterator[Finding]:
    for row in scene.accounts:
        for usage in row.usage:
            count, limit = usage.streams, usage.streams_limit
            if count is not None and limit and count >= NEAR * limit:
                yield of_account(row, f"{count:,} streams, at most {limit:,}")


CHECK = Check(
    code="account-streams-near-limit",
    severity=Severity.WARN,
    subject=Subject.ACCOUNT,
    title="Nearly as many streams as the account may have",
    meaning="The account soon may have no further stream.",
    condition=(
        "The streams reach 90 % of the account's limit, which only the account source is told."
    ),
    why="Applications that make their stream at start fail to start.",
    remedy="Remove what nobody uses, or raise the limit. Removing cannot be undone.",
    commands=(
        "nats account info",
        "nats auth account edit ACCOUNT --js-streams HIGHER",
    ),
    find=find,
)
