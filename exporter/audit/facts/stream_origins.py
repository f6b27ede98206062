"""Streams that are the origin of a mirror or source."""

from __future__ import annotations

from exporter.audit.context import AuditContext
from exporter.subscription_counts import StreamKey


def origin_keys(context: AuditContext) -> frozenset[StreamKey]:
    """Mirrors and sources read through internal consumers, which are not listed."""
    return frozenset(
        (row.account, origin.name) for row, _ in context.streams for origin in row.origins
    )
