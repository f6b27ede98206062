"""Which accounts have nearly as many of something as they may have."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from exporter.audit.check import Finding
from exporter.audit.context import AuditContext
from exporter.audit.findings import of_account
from exporter.model import AccountUsage

# How many there are and how many there may be; None where the source is not told.
Counted = Callable[[AccountUsage], tuple[int | None, int | None]]


def near_limit(
    scene: AuditContext, counted: Counted, things: str, *, near: float
) -> Iterator[Finding]:
    """Of each account and tier: where the count reaches the share `near` of its limit."""
    for row in scene.accounts:
        for usage in row.usage:
            count, limit = counted(usage)
            if count is not None and limit and count >= near * limit:
                yield of_account(row, f"{count:,} {things}, at most {limit:,}")
