"""Connections and traffic of accounts, as each server reports them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from exporter.sources.decoding.server_decode import ServerResponses
from exporter.sources.decoding.wire_servers import WireAccountStat, WireAccountStats
from exporter.sources.servers.interval_request import IntervalRequest

REQUEST = "account_statz"


@dataclass(slots=True)
class AccountStatsCache(IntervalRequest):
    """The accounts by server id, refreshed at an interval."""

    _known: dict[str, list[WireAccountStat]] = field(default_factory=dict)

    def update(self, server: str, found: WireAccountStats) -> None:
        """Keeps the accounts that this server has had connections or traffic of."""
        self._known[server] = [stat for stat in found.account_statz or [] if stat.used]

    def fill_in(self, responses: Iterable[ServerResponses]) -> None:
        there = {response.server.id: response for response in responses}
        self._known = {key: kept for key, kept in self._known.items() if key in there}
        for key, kept in self._known.items():
            there[key].account_stats = kept
