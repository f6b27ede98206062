"""A publisher and a consumer that live through everything that happens to their servers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

import nats
import nats.errors
import nats.js.errors
from nats.aio.client import Client
from support.servers import APP, NatsCluster

# About what a quiet production stream gets; the tests share the machine with three servers.
PAUSE_SECONDS: Final = 0.01
FAILURES: Final = (nats.errors.Error, nats.js.errors.Error)


@dataclass
class Life:
    """What was certainly done so far."""

    stored: int = 0  # the last sequence that a server acknowledged
    delivered: int = 0  # the last delivery that arrived


@asynccontextmanager
async def life(
    cluster: NatsCluster, stream: str, subject: str, consumer: str
) -> AsyncIterator[Life]:
    """Publishes and consumes until the end of the block; raises what no server failure explains."""
    client = await nats.connect(
        cluster.urls,
        user=APP.user,
        password=APP.password,
        max_reconnect_attempts=-1,
        reconnect_time_wait=0.05,
        error_cb=_expected,
    )
    lived = Life()
    tasks = [
        asyncio.create_task(_publish(client, subject, lived)),
        asyncio.create_task(_consume(client, stream, consumer, lived)),
    ]
    try:
        yield lived
    finally:
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        await client.close()
    early = [end for end in ends if not isinstance(end, asyncio.CancelledError)]
    assert early == [], early


async def _expected(error: Exception) -> None:
    """Lost connections are what these tests are about."""


async def _publish(client: Client, subject: str, lived: Life) -> None:
    jetstream = client.jetstream(timeout=1)
    while True:
        with suppress(*FAILURES):  # no leader at the moment: the next one may go through
            lived.stored = (await jetstream.publish(subject, b"x")).seq
        await asyncio.sleep(PAUSE_SECONDS)


async def _consume(client: Client, stream: str, consumer: str, lived: Life) -> None:
    jetstream = client.jetstream(timeout=1)
    while True:
        try:
            puller = await jetstream.pull_subscribe_bind(consumer, stream)
            while True:
                for message in await puller.fetch(5, timeout=1):
                    lived.delivered = message.metadata.sequence.consumer
                    await message.ack()
        except FAILURES:
            await asyncio.sleep(PAUSE_SECONDS)
