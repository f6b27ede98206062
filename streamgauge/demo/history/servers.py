"""Downtimes, leaders and the series of the servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from alerts import thresholds
from exporter import catalog as c
from exporter.signals.conditions import servers as conditions
from streamgauge.demo.history import scenario as plan
from streamgauge.demo.history.conditions import record_conditions
from streamgauge.demo.history.recorded_series import Recording, only
from streamgauge.demo.history.scenario import GIB, SERVERS, SYSTEM
from streamgauge.demo.history.time_grid import Floats, Grid, Mask, chance, season, steps_at

_MINUTES_A_DAY: Final = 1440
_STORAGE_MAX: Final = 90 * GIB
_MEMORY_MAX: Final = 4 * GIB
_UNCERTAINTY: Final = 0.0006  # of the clock, in seconds
# The clock of n3 drifted for two weeks, until its time service was repaired.
_DRIFTING: Final = ("n3", 20.0, 6.2, 0.12)  # server, from, until, seconds a day


def downtimes(server: str) -> list[tuple[float, float]]:
    """Days before the end: from, until."""
    begun = [(plan.UPGRADE[server], plan.UPGRADE_MINUTES)]
    crashed, ago, minutes = plan.CRASH
    if server == crashed:
        begun.append((ago, minutes))
    return [(ago, ago - minutes / _MINUTES_A_DAY) for ago, minutes in begun]


def is_down(grid: Grid, server: str) -> Mask:
    down: Mask = np.any([grid.during(*each) for each in downtimes(server)], axis=0)
    return down


def leaders(grid: Grid, home: int) -> Floats:
    """The index of the leading server: when it goes down, the next one leads from then on."""
    ends = sorted((-first, SERVERS.index(name)) for name in SERVERS for first, _ in downtimes(name))
    now = np.full(len(grid), float(home))
    leader = home
    for ago, server in ends:
        if server == leader:
            leader = (leader + 1) % len(SERVERS)
            now[grid.since(-ago)] = leader
    return now


@dataclass(frozen=True, slots=True)
class Holding:
    """What one server holds at each timestamp."""

    storage: Floats
    reserved: float
    assets: Floats
    stream_leaders: Floats
    consumer_leaders: Floats


def record_servers(recording: Recording, holdings: Sequence[Holding]) -> None:
    for server, holding in zip(SERVERS, holdings, strict=True):
        _record_server(recording, server, holding)
    _record_meta(recording)


def _record_server(recording: Recording, server: str, holding: Holding) -> None:
    grid, who = recording.grid, (SYSTEM, server)
    up = ~is_down(grid, server)
    recording.add(c.SERVER_UP, who, up)
    record_conditions(
        recording,
        c.SERVER_CONDITION_START_TIMESTAMP_SECONDS,
        who,
        _conditions(grid, server, holding).items(),
    )
    load = season(grid, 0.5, 0.2) * np.exp(chance(server).normal(0, 0.1, len(grid)))
    requests = np.cumsum(
        chance(server + "/api").poisson(grid.step * 3, len(grid)), dtype=np.float64
    )
    measured = (
        (c.SERVER_HEALTHY, 1, 0),
        (c.SERVER_CLOCK_OFFSET_SECONDS, _offset(grid, server), 4),
        (c.SERVER_CLOCK_UNCERTAINTY_SECONDS, _UNCERTAINTY, 4),
        (c.SERVER_ROUND_TRIP_SECONDS, 0.0012 + 0.0008 * load, 4),
        (c.SERVER_START_TIMESTAMP_SECONDS, _started(grid, server), 0),
        (c.SERVER_PROCESS_MEMORY_BYTES, np.round(0.9 + 0.6 * load, 2) * 1e9, 0),
        (c.SERVER_CPU_RATIO, 0.04 + 0.3 * load, 3),
        (c.SERVER_SLOW_CONSUMERS, _since_start(grid, server, steps_at(grid, 50.2, 33.1, 8.1)), 0),
        (c.SERVER_STORAGE_USED_BYTES, holding.storage, 0),
        (c.SERVER_STORAGE_RESERVED_BYTES, holding.reserved, 0),
        (c.SERVER_STORAGE_MAX_BYTES, _STORAGE_MAX, 0),
        (c.SERVER_MEMORY_USED_BYTES, 24e6, 0),
        (c.SERVER_MEMORY_RESERVED_BYTES, 0, 0),
        (c.SERVER_MEMORY_MAX_BYTES, _MEMORY_MAX, 0),
        (c.SERVER_HA_ASSETS, holding.assets, 0),
        (c.SERVER_STREAM_LEADERS, holding.stream_leaders, 0),
        (c.SERVER_CONSUMER_LEADERS, holding.consumer_leaders, 0),
        (c.SERVER_API_REQUESTS, _since_start(grid, server, requests), 0),
        (c.SERVER_API_ERRORS, _since_start(grid, server, np.floor(requests / 900)), 0),
        (c.SERVER_API_INFLIGHT, 0, 0),
    )
    for metric, values, digits in measured:
        recording.add(metric, who, only(up, values), digits)
    new = grid.since(plan.UPGRADE[server])
    for version, running in zip(plan.VERSIONS, (~new, new), strict=True):
        recording.add(c.SERVER_INFO, (*who, version, "C1", "", "true", "3"), only(up & running, 1))


def _conditions(grid: Grid, server: str, holding: Holding) -> dict[str, Mask]:
    down = is_down(grid, server)
    high = holding.storage > thresholds.SERVER_STORAGE_RATIO.value * _STORAGE_MAX
    off = np.abs(_offset(grid, server)) - _UNCERTAINTY > thresholds.CLOCK_OFFSET.value
    return {
        conditions.DOWN: down,
        conditions.STORAGE_HIGH: high & ~down,
        conditions.CLOCK_OFF: off & ~down,
    }


def _offset(grid: Grid, server: str) -> Floats:
    jitter = chance(server + "/clock").normal(0, 0.0003, len(grid))
    name, first, last, a_day = _DRIFTING
    if server != name:
        return jitter
    return jitter + np.where(grid.during(first, last), (first - grid.ago) * a_day, 0.0)


def _started(grid: Grid, server: str) -> Floats:
    started = np.full(len(grid), grid.times[0] - 40 * plan.DAY)
    for _, until in sorted(downtimes(server), reverse=True):
        started[grid.since(until)] = grid.times[-1] + grid.step - until * plan.DAY
    return started


def _since_start(grid: Grid, server: str, cumulative: Floats) -> Floats:
    """A counter that restarts from zero with the server."""
    counted = cumulative.copy()
    for _, until in sorted(downtimes(server), reverse=True):
        place = grid.place(until)
        if 0 < place < len(grid):
            counted[place:] = cumulative[place:] - cumulative[place]
    return counted


def _record_meta(recording: Recording) -> None:
    grid = recording.grid
    leading = leaders(grid, 0)
    recording.add(c.META_SIZE, (SYSTEM,), len(SERVERS))
    recording.add(c.META_PENDING, (SYSTEM,), 0)
    for place, server in enumerate(SERVERS):
        follows = leading != place
        recording.add(c.META_LEADER, (SYSTEM, server), ~follows)
        recording.add(
            c.META_REPLICA_OFFLINE, (SYSTEM, server), only(follows, is_down(grid, server))
        )
        recording.add(c.META_REPLICA_LAG, (SYSTEM, server), only(follows, 0))
