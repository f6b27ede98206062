"""Looks at real servers through a source and a signal book, and holds what they say to the truth."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace
from support.reading import Place, account_source, nats_access, poll, system_source
from support.servers import SYS
from support.truth import Ledger
from support.waiting import until

from exporter.model import Consumer, Snapshot
from exporter.signals.engine import SignalBook
from exporter.signals.heard import Heard
from exporter.signals.told import ConsumerSignals, Signals
from exporter.sources.servers_snapshot import SourceOptions
from exporter.sources.source import Source

ACCOUNT: Final = "APP"
# Configuration with every look; the slow roll calls only once.
OPTIONS: Final = SourceOptions(
    system="test", account=ACCOUNT, config_interval=0.0, health_interval=3600.0
)


@dataclass
class Claim:
    """By how much the ledger was ahead at the first look, and whether only bounds were promised."""

    redeliveries: int
    lost: int
    purged: int
    redelivery_always_exact: bool = True
    lost_always_exact: bool = True


@dataclass
class Watch:
    """One source; time can be made to pass without waiting for it."""

    source: Source
    book: SignalBook = field(default_factory=SignalBook)
    signals: Signals = field(default_factory=Signals)
    snapshot: Snapshot = field(default_factory=lambda: Snapshot("test", 0.0))
    ahead: float = 0.0  # seconds by which the clock that it sees is ahead of ours
    claims: dict[tuple[str, str], Claim] = field(default_factory=dict)

    async def look(self, heard: Heard | None = None) -> None:
        assert await self._look(heard), self.snapshot.outcomes

    async def look_until_all_answer(self) -> None:
        """After a server was away; what is seen meanwhile goes into the book as well."""
        await until(lambda: self._look(None), lambda complete: complete, "no complete answer")

    async def _look(self, heard: Heard | None) -> bool:
        snapshot = await poll(self.source)
        self.snapshot = replace(snapshot, taken=snapshot.taken + self.ahead)
        self.signals = self.book.update(self.snapshot, heard)
        return snapshot.complete and all(row.up for row in snapshot.consumers)

    def of(self, ledger: Ledger) -> ConsumerSignals:
        return self.signals.consumers[ACCOUNT, ledger.stream, ledger.consumer]

    def row(self, ledger: Ledger) -> Consumer:
        wanted = (ledger.stream, ledger.consumer)
        return next(r for r in self.snapshot.consumers if (r.stream, r.name) == wanted)

    def check(self, ledger: Ledger) -> None:
        """Equal to the truth where it says exact, never above it."""
        told, key = self.of(ledger), (ledger.stream, ledger.consumer)
        lost, purged = told.lost or 0, told.purged or 0
        claim = self.claims.setdefault(
            key,
            Claim(
                ledger.redeliveries - told.redeliveries, ledger.lost - lost, ledger.purged - purged
            ),
        )
        claim.redelivery_always_exact &= told.redelivery_exact == 1
        claim.lost_always_exact &= told.lost_exact == 1
        facts = (told, self.row(ledger), ledger.sent)
        again = ledger.redeliveries - claim.redeliveries
        assert told.redeliveries <= again, (again, facts)
        assert told.redeliveries == again or not claim.redelivery_always_exact, (again, facts)
        if told.lost is None:
            return
        truly_lost, truly_purged = ledger.lost - claim.lost, ledger.purged - claim.purged
        facts = (truly_lost, truly_purged, *facts)
        assert lost <= truly_lost, facts
        assert lost + purged <= truly_lost + truly_purged, facts
        assert (lost, purged) == (truly_lost, truly_purged) or not claim.lost_always_exact, facts


@dataclass
class Watches:
    """All ways to ask at once; they must agree with the truth, each for itself."""

    all: Mapping[str, Watch]

    async def look(self, *ledgers: Ledger, heard: Heard | None = None) -> None:
        await asyncio.gather(*(watch.look(heard) for watch in self.all.values()))
        for watch in self.all.values():
            for ledger in ledgers:
                watch.check(ledger)

    async def look_until_all_answer(self, *ledgers: Ledger) -> None:
        await asyncio.gather(*(watch.look_until_all_answer() for watch in self.all.values()))
        for watch in self.all.values():
            for ledger in ledgers:
                watch.check(ledger)

    def told(self, ledger: Ledger) -> Iterable[ConsumerSignals]:
        return [watch.of(ledger) for watch in self.all.values()]

    def pass_time(self, seconds: float) -> None:
        for watch in self.all.values():
            watch.ahead += seconds

    def begin_anew(self, ledger: Ledger) -> None:
        """After a reset: what is counted is counted on top of what was said before."""
        for watch in self.all.values():
            del watch.claims[ledger.stream, ledger.consumer]


@asynccontextmanager
async def watches(place: Place) -> AsyncIterator[Watches]:
    """As an ordinary user and as the system account."""
    async with (
        account_source(nats_access(place), OPTIONS) as account,
        system_source(nats_access(place, SYS), OPTIONS) as system,
    ):
        yield Watches({"account": Watch(account), "system": Watch(system)})
