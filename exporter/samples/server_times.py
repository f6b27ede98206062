"""Converts server timestamps to the exporter's clock, so that time() - x works in PromQL."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from exporter.model import Server


def clock_offsets(servers: tuple[Server, ...]) -> dict[str, float]:
    return {server.name: server.clock.offset_seconds for server in servers if server.clock}


def on_exporter_clock(
    time: datetime | None, server: str, offsets: Mapping[str, float]
) -> float | None:
    """None when the time or the clock offset of that server is unknown."""
    if time is None or time.year <= 1:
        return None
    offset = offsets.get(server)
    return None if offset is None else time.timestamp() - offset
