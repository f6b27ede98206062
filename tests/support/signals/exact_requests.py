"""A source, a reader of precise responses and a state, wired together as in production."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from nats.aio.client import Client
from support.exporter.source_polls import Place, account_source, api, nats_access, poll
from support.nats.servers import APP, Login
from support.signals.ledger import Ledger, Workload
from support.signals.observations import ACCOUNT, OPTIONS

from exporter.model import Outcome, Snapshot
from exporter.signals.engine import SignalState
from exporter.signals.events_input import ConsumerKey, EventsInput
from exporter.signals.results import ConsumerSignals, Signals
from exporter.sources.exact_requests.reader import Precise, PreciseOptions, PreciseReader
from exporter.sources.jetstream_api.client import AccountApi
from exporter.sources.request_context import LeftOut, RequestContext
from exporter.sources.source import Source

EXACT: Final = PreciseOptions(exact_lag=True, counts_interval=0.0)
# A server's time has more digits than ours can hold.
DIGITS_SECONDS: Final = 2e-6


@dataclass
class Handler:
    """What one poll after the other brings."""

    source: Source
    reader: PreciseReader
    state: SignalState = field(default_factory=SignalState)
    left_out: LeftOut = field(default_factory=LeftOut)
    signals: Signals | None = None
    snapshot: Snapshot = field(default_factory=lambda: Snapshot("test", 0.0))
    precise: Precise = field(default_factory=Precise)

    async def poll(self) -> None:
        self.snapshot = await poll(self.source)
        assert self.snapshot.complete, self.snapshot.outcomes
        context = RequestContext(time.monotonic() + 20, self.left_out)
        self.precise = await self.reader.read(self.snapshot, self.signals, context)
        events = EventsInput(lags=self.precise.lags, counts=self.precise.counts)
        self.signals = self.state.update(self.snapshot, events)

    async def poll_twice(self) -> None:
        """Who lags is known only after the first poll."""
        await self.poll()
        await self.poll()

    def of(self, ledger: Ledger) -> ConsumerSignals:
        assert self.signals is not None
        return self.signals.consumers[key(ledger)]

    def outcome(self, request: str) -> Outcome | None:
        return next((o for o in self.precise.outcomes if o.request == request), None)

    def assert_exact(self, ledger: Ledger, seq: int, stored: float) -> None:
        """The lag is the true age of that message, as well as the server's clock is known."""
        result = self.of(ledger)
        assert (result.lag_exact, result.blocking_stream_seq) == (1, seq), (result, self.precise)
        clock = self.snapshot.servers[0].clock
        assert clock is not None
        assert result.lag is not None
        true_age = self.snapshot.taken - stored
        assert abs(result.lag - true_age) <= clock.uncertainty_seconds + DIGITS_SECONDS


def key(ledger: Ledger) -> ConsumerKey:
    return (ACCOUNT, ledger.stream, ledger.consumer)


@asynccontextmanager
async def exact_polls(
    place: Place, options: PreciseOptions = EXACT, login: Login = APP
) -> AsyncIterator[Handler]:
    async with account_source(nats_access(place, login), OPTIONS) as source:
        yield Handler(source, PreciseReader(AccountApi(source.link), ACCOUNT, options))


async def stored_at(client: Client, stream: str, seq: int) -> float:
    response = await api(client, f"STREAM.MSG.GET.{stream}", {"seq": seq})
    text = response["message"]["time"].rstrip("Z")
    whole, _, fraction = text.partition(".")
    return datetime.fromisoformat(whole + "+00:00").timestamp() + float(f"0.{fraction or 0}")


async def orders(client: Client, *, direct: bool = True, **config: Any) -> Workload:
    """Twelve messages on three subjects in turn."""
    work = Workload(client, "ORDERS")
    await work.create(allow_direct=direct, **config)
    for number in range(12):
        await work.publish(1, "abc"[number % 3])
    return work
