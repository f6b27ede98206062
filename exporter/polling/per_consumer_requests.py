"""Requests about single consumers after a poll, asked as a user of their account."""

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
    Precise,
    PreciseOptions,
    PreciseReader,
)
from exporter.sources.jetstream_api.client import AccountApi, api_prefix
from exporter.sources.request_context import LeftOut, RequestContext
from exporter.sources.transport.connection import NatsLink

NOTHING_READ = Precise()


@dataclass(slots=True)
class PerConsumerRequests:
    """`account` tells whose consumers can be asked for; "" while that is not known."""

    link: NatsLink
    account: Callable[[Snapshot], str]
    options: PreciseOptions
    domain: str | None = None
    _reader: PreciseReader = field(init=False)
    _left_out: LeftOut = field(default_factory=LeftOut)
    _link_generation: int = -1

    def __post_init__(self) -> None:
        api = AccountApi(self.link, api_prefix(self.domain))
        self._reader = PreciseReader(api, "", self.options)

    async def read(self, snapshot: Snapshot, signals: Signals, deadline: float) -> Precise:
        """What fails here makes no snapshot incomplete: signals then say that they guess."""
        account = self.account(snapshot)
        if not account:
            return NOTHING_READ
        try:
            async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                await self.link.open()
        except RequestError as error:
            return self._unread(error.reason, error.detail)
        except TimeoutError:
            return self._unread("timeout", "no connection in time")
        if self.link.reconnects != self._link_generation:
            # Permissions may have changed with the new connection.
            self._link_generation = self.link.reconnects
            self._left_out.clear()
        self._reader.account = account
        return await self._reader.read(snapshot, signals, RequestContext(deadline, self._left_out))

    def _unread(self, reason: str, detail: str) -> Precise:
        request = EXACT_LAG if self.options.exact_lag else FILTERED_COUNTS
        return Precise(outcomes=(Outcome(request, False, 0.0, reason, detail),))
