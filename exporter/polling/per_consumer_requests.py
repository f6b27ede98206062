"""Requests about single consumers after a poll, sent as a user of their account."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from exporter.errors import RequestError
from exporter.model import Outcome, Snapshot
from exporter.signals.results import Signals
from exporter.sources.exact_requests.reader import (
    EXACT_LAG,
    FILTERED_COUNTS,
    ExactOptions,
    ExactReader,
    ExactResults,
)
from exporter.sources.jetstream_api.client import AccountApi, api_prefix
from exporter.sources.request_context import RequestContext, SkippedRequests
from exporter.sources.transport.connection import NatsConnection

NOTHING_READ = ExactResults()


@dataclass(slots=True)
class PerConsumerRequests:
    """`account` returns the account of the connection; "" while it is unknown."""

    connection: NatsConnection
    account: Callable[[Snapshot], str]
    options: ExactOptions
    domain: str | None = None
    _reader: ExactReader = field(init=False)
    _skipped_requests: SkippedRequests = field(default_factory=SkippedRequests)
    _connection_generation: int = -1

    def __post_init__(self) -> None:
        api = AccountApi(self.connection, api_prefix(self.domain))
        self._reader = ExactReader(api, "", self.options)

    async def read(self, snapshot: Snapshot, signals: Signals, deadline: float) -> ExactResults:
        """A failure here does not make the snapshot incomplete: signals are then bounds, not exact."""
        account = self.account(snapshot)
        if not account:
            return NOTHING_READ
        try:
            async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                await self.connection.open()
        except RequestError as error:
            return self._unread(error.reason, error.detail)
        except TimeoutError:
            return self._unread("timeout", "no connection in time")
        if self.connection.reconnects != self._connection_generation:
            # Permissions may have changed with the new connection.
            self._connection_generation = self.connection.reconnects
            self._skipped_requests.clear()
        self._reader.account = account
        return await self._reader.read(
            snapshot, signals, RequestContext(deadline, self._skipped_requests)
        )

    def _unread(self, reason: str, detail: str) -> ExactResults:
        request = EXACT_LAG if self.options.exact_lag else FILTERED_COUNTS
        return ExactResults(outcomes=(Outcome(request, False, 0.0, reason, detail),))
