"""A healthy day: publishers that try again, workers that finish what they hold before they go."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error
from support.faults.fault import seconds
from support.nats.servers import APP, NatsCluster
from support.recordings.scenario import MINUTE, Api

from streamgauge.cancellation import cancel

PAUSE_SECONDS: Final = 0.1
PULLED: Final = (("ORDERS", "billing"), ("ORDERS", "shipping"), ("JOBS", "worker"))
PUSHED: Final = "deliver.notices"
SUBJECTS: Final = ("orders.new", "jobs.new", "notices.new")


async def patient_client(cluster: NatsCluster) -> Client:
    """Goes from server to server for as long as it takes."""

    async def quietly(_: Exception) -> None:
        """Lost connections are part of the day."""

    return await nats.connect(
        cluster.urls,
        user=APP.user,
        password=APP.password,
        max_reconnect_attempts=-1,
        reconnect_time_wait=0.2,
        error_cb=quietly,
    )


async def make_assets(api: Api) -> None:
    """One of each kind that people have, three replicas each."""
    kept = {"max_age": 60 * MINUTE, "max_bytes": 64 * 1024**2, "num_replicas": 3}
    await api.stream("ORDERS", subjects=["orders.>"], **kept)
    await api.stream("JOBS", subjects=["jobs.>"], retention="workqueue", **kept)
    await api.stream("NOTICES", subjects=["notices.>"], retention="interest", **kept)
    for stream, consumer in PULLED:
        await api.consumer(stream, consumer, ack_wait=seconds(20))
    push = {"deliver_subject": PUSHED, "deliver_group": "screens", "ack_wait": seconds(20)}
    await api.consumer("NOTICES", "push", **push)
    await api.jetstream.create_key_value(bucket="settings", replicas=3)


@dataclass
class Worker:
    """One process of a deployment: a connection, and a loop for one consumer."""

    client: Client
    done: Counter[str]
    _leaving: asyncio.Event = field(default_factory=asyncio.Event)
    _loop: asyncio.Task[None] | None = None

    async def start(self, stream: str, consumer: str) -> None:
        self._loop = asyncio.create_task(self._work(stream, consumer))

    async def leave(self) -> None:
        """Finishes what it holds, then goes."""
        self._leaving.set()
        if self._loop is not None:
            await self._loop
        await self.client.close()

    async def _work(self, stream: str, consumer: str) -> None:
        jetstream = self.client.jetstream()
        pull = await jetstream.pull_subscribe_bind(consumer, stream)
        while not self._leaving.is_set():
            # An election, or a server that goes, ends a request; the next one finds its way.
            with suppress(Error, TimeoutError):
                for message in await pull.fetch(10, timeout=2):
                    await message.ack()
                    self.done[consumer] += 1


@dataclass
class Day:
    """Everything that works on that day; `deploy` replaces the workers one after the other."""

    cluster: NatsCluster
    published: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    _workers: dict[tuple[str, str, int], Worker] = field(default_factory=dict)

    async def open(self) -> None:
        for stream, consumer in PULLED:
            for place in range(2):
                await self._start(stream, consumer, place)

    async def deploy(self) -> None:
        for stream, consumer, place in list(self._workers):
            await self._workers[stream, consumer, place].leave()
            await self._start(stream, consumer, place)

    async def close(self) -> None:
        for worker in self._workers.values():
            await worker.leave()

    async def _start(self, stream: str, consumer: str, place: int) -> None:
        worker = Worker(await patient_client(self.cluster), self.done)
        self._workers[stream, consumer, place] = worker
        await worker.start(stream, consumer)

    async def publish(self, client: Client, subject: str) -> None:
        """Each message until it is stored, always under the same id."""
        jetstream = client.jetstream(timeout=5)
        for number in itertools.count():
            headers = {"Nats-Msg-Id": f"{subject}-{number}"}
            stored = False
            while not stored:
                with suppress(Error, TimeoutError):
                    await jetstream.publish(subject, b"healthy", headers=headers)
                    stored = True
                await asyncio.sleep(PAUSE_SECONDS)
            self.published[subject] += 1

    async def set_values(self, client: Client) -> None:
        bucket = await client.jetstream(timeout=5).key_value("settings")
        for number in itertools.count():
            with suppress(Error, TimeoutError):
                await bucket.put(f"key-{number % 10}", str(number).encode())
            await asyncio.sleep(1)

    async def show(self, message: Msg) -> None:
        await message.ack()
        self.done["push"] += 1


@asynccontextmanager
async def healthy_day(cluster: NatsCluster) -> AsyncIterator[Day]:
    """Publishers, subscribers and workers; all of them gone at the end."""
    client, day = await patient_client(cluster), Day(cluster)
    await make_assets(Api(client))
    await client.subscribe(PUSHED, "screens", cb=day.show)
    work = [day.publish(client, subject) for subject in SUBJECTS] + [day.set_values(client)]
    tasks = [asyncio.create_task(each) for each in work]
    await day.open()
    try:
        yield day
    finally:
        await cancel(tasks)
        await asyncio.gather(*tasks, return_exceptions=True)
        await day.close()
        await client.close()
