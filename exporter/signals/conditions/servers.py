"""The conditions of a server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from exporter import catalog
from exporter.model import Server
from exporter.signals.conditions.held import Held, judged
from exporter.signals.conditions.limits import DEFAULT_LIMITS, Limits
from exporter.signals.conditions.words import Reason, Unjudged

DOWN = "down"
UNHEALTHY = "unhealthy"
STORAGE_HIGH = "storage_high"
CLOCK_OFF = "clock_off"


def judge_servers(
    before: Mapping[str, Held],
    servers: Iterable[Server],
    now: float,
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[dict[str, Held], dict[str, Unjudged]]:
    """By name, only where there are any; `before`: what held at the previous poll."""
    found, unjudged = {}, {}
    for server in servers:
        name = server.name
        # What held before a server went down is old.
        old = tuple(each for each in before.get(name, ()) if server.up or each[0] == DOWN)
        held, missing = judged(
            old, _found(server, now, limits), _unknown(server), catalog.SERVER_CONDITIONS
        )
        if held:
            found[name] = held
        if missing:
            unjudged[name] = missing
    return found, unjudged


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


def _unknown(server: Server) -> dict[str, str]:
    if not server.up:
        return dict.fromkeys((UNHEALTHY, STORAGE_HIGH, CLOCK_OFF), Reason.NO_RESPONSE)
    sizes = (server.storage_used, server.storage_max, server.memory_used, server.memory_max)
    missing = (
        (UNHEALTHY, server.healthy is None),
        (STORAGE_HIGH, server.jetstream and None in sizes),
        (CLOCK_OFF, server.clock is None),
    )
    return {word: Reason.NO_VALUE for word, is_missing in missing if is_missing}


def _is_high(used: int | None, limit: int | None, most: float) -> bool:
    if used is None or not limit:
        return False
    return used > most * limit
