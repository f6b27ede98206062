"""Which streams others take their messages from."""

from __future__ import annotations

from exporter.audit.scene import Scene
from exporter.subscriptions import StreamKey


def taken_from(scene: Scene) -> frozenset[StreamKey]:
    """Mirrors and sources read without a consumer that anybody can list."""
    return frozenset(
        (row.account, origin.name) for row, _ in scene.streams for origin in row.origins
    )
