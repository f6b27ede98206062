"""Requests after a poll about single streams and consumers, sent as a user of their account."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from exporter.errors import RequestError
from exporter.model import Outcome, Skipped, Snapshot, SubjectCounts
from exporter.signals.events_input import (
    ConsumerKey,
    FilteredCount,
    LagMeasurement,
    StreamKey,
)
from exporter.signals.results import Signals
from exporter.sources.exact_requests.reader import (
    EXACT_LAG,
    FILTERED_COUNTS,
    ExactOptions,
    ExactReader,
)
from exporter.sources.jetstream_api.client import AccountApi, api_prefix
from exporter.sources.request_context import RequestContext, SkippedRequests
from exporter.sources.subject_counts import SUBJECT_COUNTS, SubjectCounter, SubjectOptions
from exporter.sources.transport.connection import NatsConnection


@dataclass(frozen=True, slots=True)
class AccountResults:
    lags: dict[ConsumerKey, LagMeasurement] = field(default_factory=dict)
    counts: dict[ConsumerKey, FilteredCount] = field(default_factory=dict)
    subjects: Mapping[StreamKey, SubjectCounts] = field(default_factory=dict)
    outcomes: tuple[Outcome, ...] = ()
    skipped: tuple[Skipped, ...] = ()


NOTHING_READ = AccountResults()


@dataclass(slots=True)
class AccountRequests:
    """`account` returns the account of the connection; "" while it is unknown."""

    connection: NatsConnection
    account: Callable[[Snapshot], str]
    options: ExactOptions
    domain: str | None = None
    subjects: SubjectOptions = field(default_factory=SubjectOptions)
    _reader: ExactReader = field(init=False)
    _counter: SubjectCounter = field(init=False)
    _skipped_requests: SkippedRequests = field(default_factory=SkippedRequests)
    _connection_generation: int = -1

    def __post_init__(self) -> None:
        api = AccountApi(self.connection, api_prefix(self.domain))
        self._reader = ExactReader(api, "", self.options)
        self._counter = SubjectCounter(api, self.subjects)

    async def read(self, snapshot: Snapshot, signals: Signals, deadline: float) -> AccountResults:
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
        context = RequestContext(deadline, self._skipped_requests)
        self._reader.account = account
        exact = await self._reader.read(snapshot, signals, context)
        subjects, counter = await self._counter.read(snapshot, account, context), self._counter
        return AccountResults(
            exact.lags,
            exact.counts,
            subjects,
            (*exact.outcomes, *counter.outcomes(context)),
            (*exact.skipped, *counter.skipped(context)),
        )

    def _unread(self, reason: str, detail: str) -> AccountResults:
        wanted = {
            EXACT_LAG: self.options.exact_lag,
            FILTERED_COUNTS: self.options.filtered_counts,
            SUBJECT_COUNTS: bool(self.subjects.streams),
        }
        request = next(name for name, on in wanted.items() if on)
        return AccountResults(outcomes=(Outcome(request, False, 0.0, reason, detail),))
