"""The conditions of a server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from alerts import thresholds
from exporter.model import Server
from exporter.signals.conditions.held import Held, still_held

DOWN = "down"
UNHEALTHY = "unhealthy"
STORAGE_HIGH = "storage_high"
CLOCK_OFF = "clock_off"


def server_conditions(
    before: Mapping[str, Held], servers: Iterable[Server], now: float
) -> dict[str, Held]:
    """Of all servers, by name; `before`: those of the previous poll."""
    found = {}
    for server in servers:
        held = still_held(before.get(server.name, ()), _found(server, now))
        if held:
            found[server.name] = held
    return found


def servers_down(conditions: Mapping[str, Held]) -> dict[str, float]:
    """Since when they are down."""
    return {
        name: since for name, held in conditions.items() for word, since in held if word == DOWN
    }


def _found(server: Server, now: float) -> Iterator[tuple[str, float]]:
    """The gravest first."""
    if not server.up:
        yield DOWN, now
        return
    if server.healthy is False:
        yield UNHEALTHY, now
    if _is_high(server.storage_used, server.storage_max) or _is_high(
        server.memory_used, server.memory_max
    ):
        yield STORAGE_HIGH, now
    clock = server.clock
    if clock is not None:
        certain = abs(clock.offset_seconds) - clock.uncertainty_seconds
        if certain > thresholds.CLOCK_OFFSET.value:
            yield CLOCK_OFF, now


def _is_high(used: int | None, limit: int | None) -> bool:
    if used is None or not limit:
        return False
    return used > thresholds.SERVER_STORAGE_RATIO.value * limit
