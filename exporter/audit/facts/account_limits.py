"""Accounts that are near a limit on the number of their assets."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from exporter.audit.check import Finding
from exporter.audit.context import AuditContext
from exporter.audit.findings import account_finding
from exporter.model import AccountUsage

# The count and its limit; None if the source does not report them.
CountAndLimit = Callable[[AccountUsage], tuple[int | None, int | None]]


def accounts_near_limit(
    context: AuditContext, count_and_limit: CountAndLimit, noun: str, *, near: float
) -> Iterator[Finding]:
    """Accounts and tiers whose count is at least `near` (a ratio) of its limit."""
    for row in context.accounts:
        for usage in row.usage:
            count, limit = count_and_limit(usage)
            if count is not None and limit and count >= near * limit:
                yield account_finding(row, f"{count:,} {noun}, limit {limit:,}")
