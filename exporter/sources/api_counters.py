"""An account's API counters, made monotonic while at least one server stays up.

Servers exchange their counts. What a server had not sent yet is lost with it, so the others may
report less than before.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec.structs import replace

from exporter.model import Account


@dataclass(slots=True)
class ApiCounters:
    _most: dict[str, tuple[int, int]] = field(default_factory=dict)  # requests and errors
    _servers: frozenset[str] = frozenset()  # ids: a restarted server has a new one

    def risen(self, accounts: tuple[Account, ...], servers: frozenset[str]) -> tuple[Account, ...]:
        """`servers`: ids of those that responded. When all ids are new, the counters restart."""
        if servers:
            if self._servers and self._servers.isdisjoint(servers):
                self._most.clear()
            self._servers = servers
        return tuple(self._risen(account) for account in accounts)

    def _risen(self, account: Account) -> Account:
        if account.api_requests is None or account.api_errors is None:
            return account
        requests, errors = self._most.get(account.name, (0, 0))
        most = max(requests, account.api_requests), max(errors, account.api_errors)
        self._most[account.name] = most
        return replace(account, api_requests=most[0], api_errors=most[1])
