"""A server's timestamps on the exporter's clock, so that time() - x is right in PromQL."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from exporter.model import Server


def clock_offsets(servers: tuple[Server, ...]) -> dict[str, float]:
    return {server.name: server.clock.offset_seconds for server in servers if server.clock}


def moved(moment: datetime | None, server: str, offsets: Mapping[str, float]) -> float | None:
    """None when the moment or the clock of that server is not known: a guess would lie."""
    if moment is None or moment.year <= 1:
        return None
    offset = offsets.get(server)
    return None if offset is None else moment.timestamp() - offset
