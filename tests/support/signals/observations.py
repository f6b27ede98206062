"""Polls real servers through a source and a signal state, and compares the results with the truth."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import pytest
from msgspec.structs import replace
from support.exporter.source_polls import (
    Place,
    account_source,
    http_access,
    monitor_source,
    nats_access,
    poll,
    system_source,
)
from support.nats.servers import SYS, NatsServer
from support.signals.ledger import Ledger
from support.waiting import until

from exporter.model import Consumer, Snapshot
from exporter.signals.engine import SignalState
from exporter.signals.events_input import EventsInput
from exporter.signals.results import ConsumerSignals, Signals
from exporter.sources.servers.snapshot import SourceOptions
from exporter.sources.source import Source

ACCOUNT: Final = "APP"
# Configuration with every poll; the slow roll calls only once.
OPTIONS: Final = SourceOptions(
    system="test", account=ACCOUNT, config_interval=0.0, health_interval=3600.0
)


@dataclass
class Claim:
    """By how much the ledger was ahead at the first poll, and whether only bounds were promised."""

    redeliveries: int
    lost: int
    lost_upper: int
    purged: int
    redelivery_always_exact: bool = True
    lost_always_exact: bool = True


@dataclass
class Supervisor:
    """One source; time can be made to pass without waiting for it."""

    source: Source
    state: SignalState = field(default_factory=SignalState)
    signals: Signals = field(default_factory=Signals)
    snapshot: Snapshot = field(default_factory=lambda: Snapshot("test", 0.0))
    ahead: float = 0.0  # seconds by which the clock that it sees is ahead of the real one
    claims: dict[tuple[str, str], Claim] = field(default_factory=dict)

    async def poll(self, events: EventsInput | None = None) -> None:
        assert await self._poll(events), self.snapshot.outcomes

    async def poll_until_complete(self) -> None:
        """After a server was away; what is seen meanwhile goes into the state as well."""
        await until(lambda: self._poll(None), lambda complete: complete, "no complete response")

    async def poll_incomplete(self) -> None:
        """While servers are away."""
        await self._poll(None)

    async def _poll(self, events: EventsInput | None) -> bool:
        snapshot = await poll(self.source)
        self.snapshot = replace(snapshot, taken=snapshot.taken + self.ahead)
        self.signals = self.state.update(self.snapshot, events)
        return snapshot.complete and all(row.up for row in snapshot.consumers)

    def of(self, ledger: Ledger) -> ConsumerSignals:
        return self.signals.consumers[ACCOUNT, ledger.stream, ledger.consumer]

    def row(self, ledger: Ledger) -> Consumer:
        wanted = (ledger.stream, ledger.consumer)
        return next(r for r in self.snapshot.consumers if (r.stream, r.name) == wanted)

    def check(self, ledger: Ledger) -> None:
        """Equal to the truth where it says exact, never above it."""
        faults = self.faults(ledger)
        assert not faults, (faults, self.of(ledger), self.row(ledger), ledger.sent)

    def faults(self, ledger: Ledger) -> list[str]:
        result, claim = self.of(ledger), self._claim(ledger)
        claim.redelivery_always_exact &= result.redelivery_exact == 1
        claim.lost_always_exact &= result.lost_exact == 1
        again = ledger.redeliveries - claim.redeliveries
        found = _fault("redeliveries", result.redeliveries, again, claim.redelivery_always_exact)
        if result.lost is None or result.purged is None:
            return found
        lost, purged = ledger.lost - claim.lost, ledger.purged - claim.purged
        found += _fault("lost", result.lost, lost, claim.lost_always_exact)
        found += _fault("purged", result.purged, purged, exact=False)
        if result.lost_upper < ledger.lost - claim.lost_upper:
            found.append(f"lost: at most {result.lost_upper}, but true is {lost}")
        return found

    def is_up_to_date(self, ledger: Ledger) -> bool:
        return self.row(ledger).delivered_consumer_seq == ledger.deliveries

    def _claim(self, ledger: Ledger) -> Claim:
        result = self.of(ledger)
        claim = Claim(
            ledger.redeliveries - result.redeliveries,
            ledger.lost - (result.lost or 0),
            ledger.lost - (result.lost_upper or 0),
            ledger.purged - (result.purged or 0),
        )
        return self.claims.setdefault((ledger.stream, ledger.consumer), claim)


def _fault(what: str, result: int, truth: int, exact: bool) -> list[str]:
    wrong = result != truth if exact else result > truth
    return [f"{what}: reported {result}, but true is {truth}"] if wrong else []


@dataclass
class Watches:
    """All sources at once; they must agree with the truth, each for itself."""

    all: Mapping[str, Supervisor]

    async def poll(self, *ledgers: Ledger, events: EventsInput | None = None) -> None:
        await asyncio.gather(*(watch.poll(events) for watch in self.all.values()))
        for watch in self.all.values():
            for ledger in ledgers:
                watch.check(ledger)

    async def poll_until_complete(self, *ledgers: Ledger) -> None:
        await asyncio.gather(*(watch.poll_until_complete() for watch in self.all.values()))
        for watch in self.all.values():
            for ledger in ledgers:
                watch.check(ledger)

    async def poll_until_true(self, *ledgers: Ledger) -> None:
        """In a cluster what happened reaches the responses a little later; never too much of it."""

        async def faults() -> list[str]:
            await asyncio.gather(*(watch.poll_until_complete() for watch in self.all.values()))
            found = [f for w in self.all.values() for one in ledgers for f in w.faults(one)]
            late = [w for w in self.all.values() for one in ledgers if not w.is_up_to_date(one)]
            return found + ["not up to date"] * len(late)

        await until(faults, lambda found: found == [], "what is reported does not become true")

    def result(self, ledger: Ledger) -> Iterable[ConsumerSignals]:
        return [watch.of(ledger) for watch in self.all.values()]

    def pass_time(self, seconds: float) -> None:
        for watch in self.all.values():
            watch.ahead += seconds

    def restart(self, ledger: Ledger) -> None:
        """After a reset: counts start from the values reported before."""
        for watch in self.all.values():
            del watch.claims[ledger.stream, ledger.consumer]


@asynccontextmanager
async def watches(
    place: Place, options: SourceOptions = OPTIONS, *, monitor: bool = False
) -> AsyncIterator[Watches]:
    """As an ordinary user, as the system account and, if wanted, over HTTP."""
    with pytest.MonkeyPatch.context() as patch:
        if isinstance(place, NatsServer):  # one server: no need to wait for others
            patch.setattr("exporter.sources.account._QUIET_SECONDS", 0.0)
            patch.setattr("exporter.sources.system._QUIET_SECONDS", 0.0)
        async with (
            account_source(nats_access(place), options) as account,
            system_source(nats_access(place, SYS), options) as system,
            monitor_source(http_access(place), options) as http,
        ):
            made = {"account": Supervisor(account), "system": Supervisor(system)}
            yield Watches(made | ({"monitor": Supervisor(http)} if monitor else {}))
