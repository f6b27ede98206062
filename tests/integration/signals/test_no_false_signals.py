"""No false signal: healthy consumers stay healthy through out-of-order acks, deploys, leader moves."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import NoRespondersError
from nats.js.errors import ServiceUnavailableError
from support.exporter.source_polls import Place, create_consumer, create_stream
from support.nats.servers import APP, NatsCluster, NatsServer, connected
from support.signals.observations import ACCOUNT, Watches, watches
from support.waiting import until

from exporter.signals.verdict import Verdict

CONSUMERS: Final[dict[str, dict[str, Any]]] = {
    "plain": {},
    "wide": {"max_ack_pending": 10_000, "filter_subject": "orders.*"},
    "narrow": {"max_ack_pending": 8, "filter_subject": "orders.b"},
    "tries": {"max_deliver": 5},
    "early": {"deliver_policy": "new", "filter_subject": "orders.never"},
    "elsewhere": {"filter_subject": "orders.none"},
}
BUSY: Final = ("plain", "wide", "narrow", "tries")
IDLE: Final = ("early", "elsewhere")
HEALTHY: Final = (None, Verdict.OK, Verdict.IDLE)
# As far apart as in production; of what happens between two polls there is enough.
INTERVAL_SECONDS: Final = 15.0
POLLS: Final = 26  # more than the window of five minutes


@dataclass
class Crew:
    """Workers of one consumer: several at once, each takes its time, acks come in any order."""

    client: Client
    consumer: str
    share: float = 1.0  # of the messages that are published
    finished: int = 0
    _goes_home: bool = False
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def start(self) -> None:
        self._goes_home = False
        self._tasks = [asyncio.create_task(self._work()) for _ in range(2)]

    async def stop(self) -> None:
        """As a deploy does: what was begun is finished, then no client pulls any more."""
        self._goes_home = True
        await asyncio.gather(*self._tasks)

    async def _work(self) -> None:
        jetstream = self.client.jetstream(timeout=10)
        puller = await jetstream.pull_subscribe_bind(self.consumer, "ORDERS")
        while not self._goes_home:
            try:
                got = await puller.fetch(5, timeout=0.2)
            except (TimeoutError, ServiceUnavailableError):
                continue  # nothing to do, or no leader for a moment
            await asyncio.gather(*(self._finish(message) for message in got))

    async def _finish(self, message: Msg) -> None:
        await asyncio.sleep(random.random() * 0.02)
        await _insist(lambda: self.client.request(message.reply, b"+ACK", timeout=1))
        self.finished += 1


async def _insist(request: Callable[[], Awaitable[object]]) -> None:
    """While a leader moves, a request may get no response: send it again."""
    while True:
        with suppress(TimeoutError, NoRespondersError):
            await request()
            return


async def _publish(client: Client, crews: Collection[Crew]) -> None:
    """No faster than the slowest crew works: none of them falls behind."""
    published = 0
    while True:
        if all(published * crew.share <= crew.finished + 20 for crew in crews):
            for subject in ("orders.a", "orders.b"):
                await _insist(partial(client.request, subject, b"x", timeout=1))
                published += 1
        await asyncio.sleep(0.005)


@asynccontextmanager
async def _healthy(place: Place) -> AsyncIterator[list[Crew]]:
    """A stream with busy and idle consumers, worked on until the end of the block."""
    replicas = len(place.nodes) if isinstance(place, NatsCluster) else 1
    async with connected(place) as client, connected(place) as publisher:
        await create_stream(
            client, "ORDERS", subjects=["orders.>"], storage="file", num_replicas=replicas
        )
        for name, config in CONSUMERS.items():
            await create_consumer(client, "ORDERS", name, **config)
        crews = [Crew(client, name) for name in BUSY]
        crews[BUSY.index("narrow")].share = 0.5
        publishing = asyncio.create_task(_publish(publisher, crews))
        for crew in crews:
            crew.start()
        try:
            yield crews
        finally:
            publishing.cancel()
            for crew in crews:
                await crew.stop()


async def _keep_polling(seen: Watches, crews: Sequence[Crew], polls: int) -> None:
    """Between two polls every crew finishes some; at each, all is well."""
    for _ in range(polls):
        goals = [crew.finished + 10 for crew in crews]

        async def left(goals: list[int] = goals) -> int:
            return sum(crew.finished < goal for crew, goal in zip(crews, goals, strict=True))

        await until(left, lambda lazy: lazy == 0, "a crew does not work")
        seen.pass_time(INTERVAL_SECONDS)
        await seen.poll()
        _assert_all_is_well(seen)


def _assert_all_is_well(seen: Watches) -> None:
    for watch in seen.all.values():
        for name in (*BUSY, *IDLE):
            result = watch.signals.consumers[ACCOUNT, "ORDERS", name]
            facts = (name, result, [r for r in watch.snapshot.consumers if r.name == name])
            assert result.verdict in HEALTHY, facts
            assert (result.redeliveries, result.lost, result.purged, result.recreated) == (
                0,
                0,
                0,
                0,
            ), facts
            assert (result.lost_waiting or 0, result.floor_exhausted or 0, result.ahead) == (
                0,
                0,
                None,
            )
            assert result.redelivery_cause is None, facts


async def test_a_healthy_workload_raises_no_signal(nats_server: NatsServer) -> None:
    async with (
        connected(nats_server) as after_the_deploy,
        _healthy(nats_server) as crews,
        watches(nats_server) as seen,
    ):
        await _keep_polling(seen, crews, POLLS // 2)
        # A deploy: one crew after the other goes home, and a new one starts.
        for crew in crews:
            await crew.stop()
            crew.client = after_the_deploy
            crew.start()
            await _keep_polling(seen, crews, 1)
        await _keep_polling(seen, crews, POLLS // 2)
        _assert_verdicts(seen)


async def test_moving_leaders_raise_no_signal(nats_cluster: NatsCluster) -> None:
    async with _healthy(nats_cluster) as crews, watches(nats_cluster) as seen:
        await _keep_polling(seen, crews, 3)
        for move in (0, 1):
            await nats_cluster.step_down_consumer(APP, "ORDERS", BUSY[move])
            await seen.poll_until_complete()
            await _keep_polling(seen, crews, 1)
        await nats_cluster.step_down_stream(APP, "ORDERS")
        await seen.poll_until_complete()
        await _keep_polling(seen, crews, 3)
        _assert_verdicts(seen)


def _assert_verdicts(seen: Watches) -> None:
    for watch in seen.all.values():
        verdicts = {key[2]: result.verdict for key, result in watch.signals.consumers.items()}
        assert {verdicts[name] for name in BUSY} == {Verdict.OK}
        assert {verdicts[name] for name in IDLE} == {Verdict.IDLE}
