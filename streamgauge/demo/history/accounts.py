"""The series of accounts, their advisories, and the exporter's own metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from exporter import catalog as c
from streamgauge.demo.history.recorded_series import Recording, only
from streamgauge.demo.history.scenario import APP, CRASH, GIB, SERVERS, SYSTEM, UPGRADE
from streamgauge.demo.history.servers import is_down
from streamgauge.demo.history.time_grid import (
    EXPORTER_STARTS,
    Floats,
    Grid,
    chance,
    since_exporter_start,
    steps_at,
)

_STORAGE_LIMITS: Final = {APP: 200 * GIB}
_REQUESTS: Final = ("statsz", "healthz", "jsz", "jsz_config", "subsz")


@dataclass(frozen=True, slots=True)
class AccountUse:
    storage: Floats  # all replicas
    reserved: float
    streams: int
    consumers: Floats
    exhausted: Floats  # so far


def record_accounts(recording: Recording, uses: Mapping[str, AccountUse]) -> None:
    for account, use in uses.items():
        _record_account(recording, account, use)


def _record_account(recording: Recording, account: str, use: AccountUse) -> None:
    grid, who = recording.grid, (SYSTEM, account)
    requests = 1e6 + np.cumsum(chance(account).poisson(grid.step * 2, len(grid)))
    tiered = (
        (c.ACCOUNT_STORAGE_USED_BYTES, use.storage),
        (c.ACCOUNT_STORAGE_RESERVED_BYTES, use.reserved),
        (c.ACCOUNT_STORAGE_LIMIT_BYTES, _STORAGE_LIMITS.get(account)),
        (c.ACCOUNT_MEMORY_USED_BYTES, 0),
        (c.ACCOUNT_STREAMS, use.streams),
        (c.ACCOUNT_CONSUMERS, use.consumers),
        (c.ACCOUNT_STREAMS_LIMIT, 50 if account == APP else None),
    )
    for metric, values in tiered:
        if values is not None:
            recording.add(metric, (*who, ""), values)
    recording.add(c.ACCOUNT_API_REQUESTS, who, requests)
    recording.add(c.ACCOUNT_API_ERRORS, who, np.floor(requests / 1200))
    elections = steps_at(grid, *UPGRADE.values(), CRASH[1]) * use.streams
    for kind, received in (("stream.leader_elected", elections), ("max_deliver", use.exhausted)):
        counted = since_exporter_start(grid, received)
        recording.add(c.ADVISORIES, (*who, kind), only(counted > 0, counted))


def record_exporter(recording: Recording) -> None:
    grid, system = recording.grid, (SYSTEM,)
    succeeded = np.sum([~is_down(grid, server) for server in SERVERS], axis=0)
    whole = succeeded == len(SERVERS)
    started = _exporter_started(grid)
    for metric, values, digits in (
        (c.UP, whole, 0),
        (c.SNAPSHOT_AGE_SECONDS, chance("age").uniform(0, 15, len(grid)), 1),
        (c.POLL_DURATION_SECONDS, 0.04 + 0.05 * chance("poll").random(len(grid)), 3),
        (c.SERVERS_EXPECTED, len(SERVERS), 0),
        (c.SERVERS_RESPONDING, succeeded, 0),
        (c.SERIES, len(recording.series), 0),
        (c.SERIES_DROPPED, 0, 0),
        (c.PUBLISH_ACK_TAP_ACTIVE, 1, 0),
        (c.PUBLISH_ACK_TAP_DROPPED, 0, 0),
        (c.ADVISORIES_CONNECTED_TIMESTAMP_SECONDS, started + 1, 0),
    ):
        recording.add(metric, system, values, digits)
    for request in _REQUESTS:
        recording.add(c.REQUEST_SUCCESS, (*system, request), whole)
    failed = since_exporter_start(grid, np.cumsum(~whole).astype(np.float64))
    recording.add(c.POLL_ERRORS, (*system, "jsz", "timeout"), only(failed > 0, failed))
    recording.add(c.CONFIG_LAST_RELOAD_SUCCESS, (), 1)
    recording.add(c.CONFIG_LAST_RELOAD_TIMESTAMP_SECONDS, (), started)
    recording.add(c.BUILD_INFO, ("0.1.0", "3.11.9"), 1)


def _exporter_started(grid: Grid) -> Floats:
    started = np.full(len(grid), grid.times[0] - 3600)
    for ago in EXPORTER_STARTS:
        since = grid.since(ago)
        if 0 < grid.place(ago) < len(grid):
            started[since] = grid.times[grid.place(ago)]
    return started
