"""Random operations on one stream and its consumers, and the laws that hold whatever was done."""

import random
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from support.signals.ledger import ACK, IN_PROGRESS, MILLISECOND, NAK, TERM, Ledger, Workload
from support.signals.observations import Watches

from exporter.signals.loss.accounting import position

STREAMS: Final[dict[str, dict[str, Any]]] = {
    "PLAIN": {},
    "NARROW": {"max_msgs": 25},
    "QUEUE": {"retention": "workqueue"},
    "INTEREST": {"retention": "interest", "max_msgs": 60},
}
CONSUMERS: Final[dict[str, dict[str, Any]]] = {
    "all": {},
    "twice": {"max_deliver": 2},
    "hasty": {"ack_wait": 60 * MILLISECOND},
    "picky": {},  # only one of the three subjects
}


@dataclass
class Chance:
    """Does one random thing after the other to one stream, and keeps the list."""

    work: Workload
    dice: random.Random
    done: list[str] = field(default_factory=list)

    async def act(self) -> None:
        name = self.dice.choice(list(self.work.ledgers))
        ledger = self.work.ledgers[name]
        # Where limits or acks take messages too, it is unknown who took one.
        by_hand = self.work.stream == "PLAIN"
        acts: dict[Callable[[Ledger], Awaitable[None]], int] = {
            self.publish: 30,
            self.fetch: 35,
            self.response: 30,
            self.delete: 4 * by_hand,
            self.purge: 2 * by_hand,
        }
        (chosen,) = self.dice.choices(list(acts), list(acts.values()))
        self.done.append(f"{chosen.__name__} {name}")
        await chosen(ledger)

    async def publish(self, _: Ledger) -> None:
        await self.work.publish(self.dice.randint(1, 6), self.dice.choice("abc"))

    async def fetch(self, ledger: Ledger) -> None:
        await self.work.fetch(ledger.consumer, self.dice.randint(1, 8))

    async def response(self, ledger: Ledger) -> None:
        held = sorted(ledger.held)
        some = self.dice.sample(held, self.dice.randint(0, len(held)))
        word = self.dice.choices([ACK, NAK, TERM, IN_PROGRESS], [60, 25, 8, 7])[0]
        await self.work.response(ledger.consumer, some, word)

    async def delete(self, _: Ledger) -> None:
        if self.work.stored:
            await self.work.delete(self.dice.choice(sorted(self.work.stored)))

    async def purge(self, _: Ledger) -> None:
        if self.work.stored:
            await self.work.purge(seq=self.dice.choice(sorted(self.work.stored)))


async def prepared(work: Workload, dice: random.Random) -> Chance:
    await work.create(**STREAMS[work.stream])
    # A work queue takes but one consumer for each message.
    names = ["all"] if work.stream == "QUEUE" else list(CONSUMERS)
    for name in names:
        config = dict(CONSUMERS[name])
        if name == "picky":
            config["filter_subject"] = f"{work.stream.lower()}.b"
        await work.consumer(name, **config)
    return Chance(work, dice)


Start = dict[tuple[str, str], list[int]]  # by stream and consumer, of every source


def start_of(seen: Watches, ledgers: Iterable[Ledger]) -> Start:
    return {(one.stream, one.consumer): _balance(seen, one) for one in ledgers}


def broken_laws(seen: Watches, works: Iterable[Workload], start: Start) -> list[str]:
    """What must hold at the end of whatever was done, for every consumer and every source."""
    broken = []
    for work in works:
        for ledger in work.ledgers.values():
            name = f"{work.stream} {ledger.consumer}"
            if ledger.consumer != "picky" and not _had_gaps(seen, ledger):
                now, before = _balance(seen, ledger), start[ledger.stream, ledger.consumer]
                broken += [f"{name}: not shared out, {before} became {now}"] * (now != before)
            waiting = len(work.waiting(ledger))
            found = [watch.row(ledger).num_pending for watch in seen.all.values()]
            broken += [f"{name}: {found} pending, true is {waiting}"] * (set(found) != {waiting})
            # Each was sent, waits, or was taken away before: there is no fourth way.
            known = len(ledger.sent) + waiting + ledger.lost + ledger.purged
            stored = _stored_ever(seen, work.stream)
            if not ledger.filters and stored != {known}:
                broken.append(f"{name}: {stored} were stored, of {known} is known what became")
    return broken


def _balance(seen: Watches, ledger: Ledger) -> list[int]:
    """Deliveries minus the way through the stream: that is all there is to share out."""
    return [
        watch.of(ledger).redeliveries
        - (watch.of(ledger).lost or 0)
        - (watch.of(ledger).purged or 0)
        - watch.row(ledger).delivered_consumer_seq
        + position(watch.row(ledger))
        for watch in seen.all.values()
    ]


def _had_gaps(seen: Watches, ledger: Ledger) -> bool:
    """A message deleted by hand ahead of it: then only bounds were promised."""
    return not all(
        watch.claims[ledger.stream, ledger.consumer].lost_always_exact
        and watch.claims[ledger.stream, ledger.consumer].redelivery_always_exact
        for watch in seen.all.values()
    )


def _stored_ever(seen: Watches, stream: str) -> set[int]:
    rows = [row for watch in seen.all.values() for row in watch.snapshot.streams]
    return {row.last_seq for row in rows if row.name == stream}
