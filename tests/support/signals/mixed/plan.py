"""Random operations on streams of every kind, mixed by a seed."""

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from nats.aio.client import Client
from support.exporter.source_polls import create_stream
from support.signals.ledger import ACK, IN_PROGRESS, MILLISECOND, NAK, TERM
from support.signals.mixed.bounds import Gauge
from support.signals.mixed.workload import Life, MixedWorkload

KINDS: Final[dict[str, dict[str, Any]]] = {
    "OLD": {"max_msgs": 20},
    "NEW": {"max_msgs": 25, "discard": "new"},
    "BYTES": {"max_bytes": 1800},
    "AGED": {"max_age": 700 * MILLISECOND, "duplicate_window": 100 * MILLISECOND},
    "SUBJECTS": {"max_msgs": 30},
    "SOURCED": {"max_msgs": 25, "sources": [{"name": "ORIGIN"}]},
    # No limit is near, and still not every sequence is a message for everyone.
    "FREE": {},
    "JOINED": {"sources": [{"name": "SPRING"}]},
}
CONSUMERS: Final[dict[str, dict[str, Any]]] = {
    "all": {"max_deliver": 3},
    "own": {},
    "a": {},
    "b": {"ack_wait": 60 * MILLISECOND, "max_deliver": 2},
    "slow": {},
}
# All but what comes from a source; the subject that is left when they are narrowed; another one.
FILTERS: Final = {"own": "*", "a": "a", "b": "b"}
_NAK_LATER: Final = NAK + b' {"delay": 200000000}'
_WORDS: Final = {ACK: 50, NAK: 20, _NAK_LATER: 10, TERM: 10, IN_PROGRESS: 10}
_SUBJECTS: Final = ("abc", "a", "ab")
Operation = Callable[[MixedWorkload], Awaitable[None]]


@dataclass
class Plan:
    client: Client
    dice: random.Random
    gauges: list[Gauge]
    can_pause: bool
    works: list[MixedWorkload] = field(default_factory=list)
    done: list[str] = field(default_factory=list)

    async def prepare(self, kinds: int) -> None:
        for name in self.dice.sample(list(KINDS), kinds):
            work = MixedWorkload(self.client, name)
            for source in KINDS[name].get("sources", ()):
                await create_stream(self.client, source["name"])
            await work.create(**KINDS[name])
            for consumer in CONSUMERS:
                await self._consumer(work, consumer)
            self.works.append(work)
        for gauge in self.gauges:
            await gauge.poll(self.works, "start")

    async def run(self, operations: int) -> None:
        for _ in range(operations):
            if self.dice.random() < 0.3:
                await self._poll(self.dice.choice(self.gauges))
            else:
                await self._act(self.dice.choice(self.works))
        for gauge in self.gauges:
            await self._poll(gauge)

    async def disagreements(self) -> list[str]:
        """At the end every consumer gets just what waits for it by the ledger, and nothing else."""
        found = []
        for work in self.works:
            for life in list(work.lives.values()):
                if self.can_pause:
                    await work.do(f"CONSUMER.PAUSE.{work.stream}.{life.consumer}", {})
                await work.note_gone()
                waiting, sent, deliveries = work.waiting(life), set(life.sent), life.deliveries
                info = await work.info(life.consumer)
                await self._receive_all(work, life.consumer)
                await work.note_gone()  # messages may expire meanwhile
                got, left = set(life.sent) - sent, work.waiting(life)
                if left or not got <= waiting or deliveries != info["delivered"]["consumer_seq"]:
                    found.append(f"{work.stream} {life.consumer}: {got - waiting}, left {left}")
        return found

    async def _receive_all(self, work: MixedWorkload, consumer: str) -> None:
        """A 2.9 server spends a whole pull on each message that was purged after its nak."""
        redelivered = -1
        while True:
            got = await work.fetch(consumer, 100)
            before, redelivered = redelivered, (await work.info(consumer))["num_redelivered"]
            if not got and redelivered == before:
                return

    async def _poll(self, gauge: Gauge) -> None:
        self.done.append(f"poll {gauge.source}")
        await gauge.poll(self.works, f"operation {len(self.done)}")

    async def _act(self, work: MixedWorkload) -> None:
        acts: dict[Operation, int] = {
            self.publish: 34,
            self.fetch: 26,
            self.respond: 22,
            self.delete: 3,
            self.purge: 4,
            self.purge_and_refill: 2,
            self.pause: 2 * self.can_pause,
            self.recreate_consumer: 3,
            self.recreate_stream: 1,
            self.narrow: 6 * (work.stream in ("SUBJECTS", "FREE")),
            self.limit: 4 * (work.stream == "OLD"),
            self.source: 20 * (work.origin is not None),
        }
        (chosen,) = self.dice.choices(list(acts), list(acts.values()))
        self.done.append(f"{chosen.__name__} {work.stream}")
        await chosen(work)

    def _life(self, work: MixedWorkload) -> Life:
        return work.lives[self.dice.choice(sorted(work.lives))]

    def _note(self, *words: object) -> None:
        self.done[-1] += " " + " ".join(map(str, words))

    async def publish(self, work: MixedWorkload) -> None:
        subject = self.dice.choice(work.config["subjects"]).removeprefix(f"{work.stream.lower()}.")
        count = self.dice.randint(1, 14)
        self._note(count, subject)
        await work.publish(count, subject)

    async def source(self, work: MixedWorkload) -> None:
        await work.publish_to_source(self.dice.randint(1, 12))

    async def fetch(self, work: MixedWorkload) -> None:
        life, count = self._life(work), self.dice.randint(1, 10)
        if life.consumer == "slow" and self.dice.random() < 0.7:
            return
        got = await work.fetch(life.consumer, count)
        self._note(life.consumer, [message.metadata.sequence.stream for message in got])

    async def respond(self, work: MixedWorkload) -> None:
        life = self._life(work)
        held = sorted(life.held)
        some = self.dice.sample(held, self.dice.randint(0, len(held)))
        (word,) = self.dice.choices(list(_WORDS), list(_WORDS.values()))
        self._note(life.consumer, word.decode(), some)
        await work.response(life.consumer, some, word)

    async def delete(self, work: MixedWorkload) -> None:
        if work.stored:
            sequence = self.dice.choice(sorted(work.stored))
            self._note(sequence)
            await work.delete(sequence)

    async def purge(self, work: MixedWorkload) -> None:
        how: dict[str, Any] = self.dice.choice(
            [
                {},
                # Before sequence 1 means everything.
                {"seq": max(2, self.dice.choice([*work.stored, 2]))} if work.stored else {},
                {"filter": f"{work.stream.lower()}.{self.dice.choice('abc')}"},
            ]
        )
        self._note(how)
        await work.purge(**how)

    async def purge_and_refill(self, work: MixedWorkload) -> None:
        """Within one poll: it looks as full as before."""
        await work.purge()
        for _ in range(3):
            await self.publish(work)

    async def narrow(self, work: MixedWorkload) -> None:
        """Or widen again; what is stored of the other subjects stays."""
        letters = self.dice.choice(_SUBJECTS)
        self._note(letters)
        await work.update(subjects=[f"{work.stream.lower()}.{each}" for each in letters])

    async def limit(self, work: MixedWorkload) -> None:
        most = self.dice.choice([8, 20, 40])
        self._note(most)
        await work.update(max_msgs=most)

    async def pause(self, work: MixedWorkload) -> None:
        life, hour = self._life(work), datetime.now(UTC) + timedelta(hours=1)
        how = self.dice.choice([{"pause_until": hour.isoformat()}, {}])
        self._note(life.consumer, bool(how))
        await work.do(f"CONSUMER.PAUSE.{work.stream}.{life.consumer}", how)

    async def recreate_consumer(self, work: MixedWorkload) -> None:
        name = self._life(work).consumer
        await work.delete_consumer(name)
        await self._perhaps_poll()
        # 2.9 takes no filter on a subject that the stream does not have.
        accepted = [
            each for each in "ab" if f"{work.stream.lower()}.{each}" in work.config["subjects"]
        ]
        await self._consumer(work, name, subject=self.dice.choice([None, "*", *accepted]))

    async def recreate_stream(self, work: MixedWorkload) -> None:
        names = list(work.lives)
        await work.delete_stream()
        await self._perhaps_poll()
        await work.create(**KINDS[work.stream])
        for name in names:
            await self._consumer(work, name)

    async def _perhaps_poll(self) -> None:
        if self.dice.random() < 0.3:
            await self._poll(self.dice.choice(self.gauges))

    async def _consumer(self, work: MixedWorkload, name: str, subject: str | None = "") -> None:
        """With its usual filter, or with another one or none."""
        config = dict(CONSUMERS[name])
        subject = FILTERS.get(name) if subject == "" else subject
        if subject:
            config["filter_subject"] = f"{work.stream.lower()}.{subject}"
        if self.dice.random() < 0.2:
            config["deliver_policy"] = "new"
        if self.done:
            self._note(name, subject, config.get("deliver_policy", "all"))
        await work.consumer(name, **config)
