"""The conditions of a server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from exporter.model import Server
from exporter.signals.conditions.held import Held, still_held
from exporter.signals.conditions.limits import DEFAULT_LIMITS, Limits

DOWN = "down"
UNHEALTHY = "unhealthy"
STORAGE_HIGH = "storage_high"
CLOCK_OFF = "clock_off"


def server_conditions(
    before: Mapping[str, Held],
    servers: Iterable[Server],
    now: float,
    limits: Limits = DEFAULT_LIMITS,
) -> dict[str, Held]:
    """Of all servers, by name; `before`: those of the previous poll."""
    found = {}
    for server in servers:
        held = still_held(before.get(server.name, ()), _found(server, now, limits))
        if held:
            found[server.name] = held
    return found


def servers_down(conditions: Mapping[str, Held]) -> dict[str, float]:
    """Since when they are down."""
    return {
        name: since for name, held in conditions.items() for word, since in held if word == DOWN
    }


def _found(server: Server, now: float, limits: Limits) -> Iterator[tuple[str, float]]:
    """The gravest first."""
    if not server.up:
        yield DOWN, now
        return
    if server.healthy is False:
        yield UNHEALTHY, now
    most = limits.server_storage_ratio
    if _is_high(server.storage_used, server.storage_max, most) or _is_high(
        server.memory_used, server.memory_max, most
    ):
        yield STORAGE_HIGH, now
    clock = server.clock
    if clock is not None:
        certain = abs(clock.offset_seconds) - clock.uncertainty_seconds
        if certain > limits.clock_offset:
            yield CLOCK_OFF, now


def _is_high(used: int | None, limit: int | None, most: float) -> bool:
    if used is None or not limit:
        return False
    return used > most * limit
