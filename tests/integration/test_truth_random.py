"""Hundreds of random operations: what is told is never above the truth, and equal where it is exact.

The seed is in the name of each case; the failure prints what was done.
"""

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from support.looking import Watches, watches
from support.servers import NatsServer, connected, long_run
from support.truth import ACK, IN_PROGRESS, MILLISECOND, NAK, TERM, Ledger, Workload

from exporter.signals.accounting import position

OPERATIONS: Final = 300
SEEDS: Final = range(1, 7) if long_run() else range(1, 2)
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
        # Where limits or acks take messages too, nobody could say who took one.
        by_hand = self.work.stream == "PLAIN"
        acts: dict[Callable[[Ledger], Awaitable[None]], int] = {
            self.publish: 30,
            self.fetch: 35,
            self.answer: 30,
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

    async def answer(self, ledger: Ledger) -> None:
        held = sorted(ledger.held)
        some = self.dice.sample(held, self.dice.randint(0, len(held)))
        word = self.dice.choices([ACK, NAK, TERM, IN_PROGRESS], [60, 25, 8, 7])[0]
        await self.work.answer(ledger.consumer, some, word)

    async def delete(self, _: Ledger) -> None:
        if self.work.stored:
            await self.work.delete(self.dice.choice(sorted(self.work.stored)))

    async def purge(self, _: Ledger) -> None:
        if self.work.stored:
            await self.work.purge(seq=self.dice.choice(sorted(self.work.stored)))


@pytest.mark.parametrize("seed", SEEDS)
async def test_what_is_told_of_a_random_workload_is_true(
    nats_server: NatsServer, seed: int
) -> None:
    dice = random.Random(seed)
    async with connected(nats_server) as client, watches(nats_server) as seen:
        chances = [await _prepared(Workload(client, name), dice) for name in STREAMS]
        ledgers = [one for chance in chances for one in chance.work.ledgers.values()]
        await seen.look(*ledgers)
        start = {one.consumer + one.stream: _balance(seen, one) for one in ledgers}
        for number in range(OPERATIONS):
            chance = dice.choice(chances)
            await chance.act()
            if number % 8 == 7:
                try:
                    await seen.look(*ledgers)
                except AssertionError as error:
                    print("done:", *(f"{one.work.stream}: {one.done}\n" for one in chances))
                    raise AssertionError(f"seed {seed}, operation {number}") from error
        # Deliveries minus the way through the stream: that is all there is to share out.
        for one in ledgers:
            if one.consumer != "picky" and not _had_gaps(seen, one):
                assert _balance(seen, one) == start[one.consumer + one.stream]
        assert sum(one.redeliveries for one in ledgers) > 20  # else this proved nothing
        assert sum(one.lost + one.purged for one in ledgers) > 20


async def _prepared(work: Workload, dice: random.Random) -> Chance:
    await work.create(**STREAMS[work.stream])
    # A work queue takes but one consumer for each message.
    names = ["all"] if work.stream == "QUEUE" else list(CONSUMERS)
    for name in names:
        config = dict(CONSUMERS[name])
        if name == "picky":
            config["filter_subject"] = f"{work.stream.lower()}.b"
        await work.consumer(name, **config)
    return Chance(work, dice)


def _balance(seen: Watches, ledger: Ledger) -> list[int]:
    """Zero sum: redelivered - gone - (deliveries - way), of every source."""
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
        for watch in seen.all.values()
    )
