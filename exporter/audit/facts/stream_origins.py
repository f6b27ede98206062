"""Which streams others take their messages from."""

from __future__ import annotations

from exporter.audit.context import AuditContext
from exporter.subscription_counts import StreamKey


def taken_from(scene: AuditContext) -> frozenset[StreamKey]:
    """Mirrors and sources read without a consumer that anybody can list."""
    return frozenset(
        (row.account, origin.name) for row, _ in scene.streams for origin in row.origins
    )
