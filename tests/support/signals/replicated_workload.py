"""A workload on three nodes whose leaders move: it insists, and knows all the same what it did."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from support.exporter.source_polls import api
from support.nats.servers import APP, NEWEST, NatsCluster, connect, default_options, long_run
from support.signals.ledger import ACK, IN_PROGRESS, NAK, Ledger, Workload
from support.signals.observations import Supervisor, Watches, watches
from support.waiting import PAUSE_SECONDS, until

# Where the rules of servers differ: the whole list takes too long on three nodes each.
VERSIONS: Final = ("2.9.10", "2.10.26", "2.12.8", "2.15.1") if long_run() else (NEWEST,)
_NEVER_STORED: Final = 300  # responses, which take fifteen seconds
_PATIENCE_SECONDS: Final = 60.0
_RESPONSE_SECONDS: Final = 3.0
# No leader now, or not yet; an id that is just being stored.
_NOT_NOW: Final = {10008, 10158}

T = TypeVar("T")


async def insist(request: Callable[[], Awaitable[T]]) -> T:
    """While a leader moves no server receives a request: it is sent again until one does."""
    async with asyncio.timeout(_PATIENCE_SECONDS):
        while True:
            try:
                return await request()
            except (nats.errors.TimeoutError, nats.errors.NoRespondersError):
                await asyncio.sleep(PAUSE_SECONDS)


@dataclass
class ReplicatedWorkload(Workload):
    """Three copies of everything. What may have been received and is sent again does no harm."""

    _numbers: Iterable[int] = field(default_factory=itertools.count)

    async def create(self, **config: Any) -> None:
        await super().create(**{"num_replicas": 3} | config)

    async def publish(self, count: int = 1, subject: str = "a") -> None:
        """With ids: one that was stored and not acknowledged is not stored twice."""
        whole = f"{self.stream.lower()}.{subject}"
        for number in itertools.islice(self._numbers, count):
            self.stored[await self._store(whole, f"{self.stream}-{number}")] = whole
        await self.note_gone()

    async def _store(self, subject: str, name: str) -> int:
        under_way = 0

        async def request() -> Any:
            nonlocal under_way
            # 2.10 may hold an id for ever whose message went down with the leader, as if it were
            # still under way (sequence 0): that one was not stored, and takes another id.
            lost = under_way > _NEVER_STORED
            reply = await self.client.request(
                subject,
                b"x" * 16,
                timeout=_RESPONSE_SECONDS,
                headers={"Nats-Msg-Id": f"{name}-again" if lost else name},
            )
            response = json.loads(reply.data)
            under_way += response.get("seq") == 0
            return response

        async def stored() -> Any:
            return await insist(request)

        response = await until(
            stored, lambda response: not _not_now(response) and response.get("seq") != 0, name
        )
        assert "error" not in response, response
        return int(response["seq"])

    async def fetch(self, name: str, count: int = 1, *, wait: bool = False) -> list[Msg]:
        try:
            return await super().fetch(name, count, wait=wait)
        except TimeoutError:
            return []  # a part of the pull got no response; its result is in the ledger

    async def response(self, name: str, sequences: Iterable[int], word: bytes = ACK) -> None:
        ledger = self.ledgers[name]
        for sequence in list(sequences):
            held = ledger.held[sequence] if word == IN_PROGRESS else ledger.held.pop(sequence)

            async def request(reply: str = held.reply) -> Msg:
                return await self.client.request(reply, word, timeout=_RESPONSE_SECONDS)

            await insist(request)
            ledger.naks += word.startswith(NAK)
        await self.note_gone()

    async def _done(self, subject: str, request: dict[str, Any] | None = None) -> Any:
        async def send() -> Any:
            return await insist(
                lambda: api(self.client, subject, request or None, _RESPONSE_SECONDS)
            )

        response = await until(send, lambda response: not _not_now(response), subject)
        assert "error" not in response, (subject, response["error"])
        return response


def _not_now(response: Any) -> bool:
    return response.get("error", {}).get("err_code") in _NOT_NOW


@dataclass
class Stage:
    """A cluster, a client, both ways to look, and the moves that a test makes."""

    cluster: NatsCluster
    client: Client
    seen: Watches
    works: list[ReplicatedWorkload] = field(default_factory=list)

    async def stream(self, name: str, **config: Any) -> ReplicatedWorkload:
        work = ReplicatedWorkload(self.client, name)
        await work.create(**config)
        self.works.append(work)
        return work

    @property
    def ledgers(self) -> list[Ledger]:
        return [ledger for work in self.works for ledger in work.ledgers.values()]

    async def poll_until_true(self) -> None:
        """At all that there is."""
        await self.seen.poll_until_true(*self.ledgers)

    async def move_leaders(self) -> None:
        """Of every stream, then of every consumer: both at once are more than 2.9 can bear."""
        cluster, ledgers = self.cluster, self.ledgers
        await asyncio.gather(*(cluster.step_down_stream(APP, work.stream) for work in self.works))
        await asyncio.gather(
            *(cluster.step_down_consumer(APP, one.stream, one.consumer) for one in ledgers)
        )
        await self.seen.poll_until_complete()

    async def leave(self, node: str) -> None:
        """The client goes to another node before that one ends."""
        others = [one for one in self.cluster.nodes if one.name != node and one.running]
        await self.client.close()
        self.client = await connect(others[0])
        for work in self.works:
            await work.continue_with(self.client)

    async def until_reported(self, what: Callable[[Supervisor], object], truth: object) -> None:
        """Polls until every source reports the truth: responses lag behind a little."""

        async def result() -> dict[str, object]:
            await self.seen.poll_until_complete()
            return {name: what(watch) for name, watch in self.seen.all.items()}

        wanted = dict.fromkeys(self.seen.all, truth)
        await until(result, lambda response: response == wanted, f"not reported: {truth}")


@asynccontextmanager
async def three_nodes(version: str) -> AsyncIterator[NatsCluster]:
    async with NatsCluster(3, version, default_options()) as cluster:
        yield cluster


@asynccontextmanager
async def stage(cluster: NatsCluster) -> AsyncIterator[Stage]:
    """What was made is deleted at the end, so that one cluster serves many tests."""
    client = await connect(cluster)
    async with watches(cluster) as seen:
        made = Stage(cluster, client, seen)
        try:
            yield made
        finally:
            for work in made.works:
                await _delete(made.client, work.stream)
            await made.client.close()


async def _delete(client: Client, stream: str) -> None:
    """Whether it was there or not: a test that failed must not fail here again."""
    await insist(lambda: api(client, f"STREAM.DELETE.{stream}", seconds=_RESPONSE_SECONDS))
