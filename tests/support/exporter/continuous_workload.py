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
from support.nats.servers import APP, NatsCluster

# About what a quiet production stream gets; the tests share the machine with three servers.
PAUSE_SECONDS: Final = 0.01
PATIENCE_SECONDS: Final = 1.0
FAILURES: Final = (nats.errors.Error, nats.js.errors.Error, TimeoutError)


@dataclass
class Life:
    """What was certainly done so far."""

    stored: int = 0  # the last sequence that a server acknowledged
    delivered: int = 0  # the last delivery that arrived
    over: bool = False


@asynccontextmanager
async def life(cluster: NatsCluster, stream: str, consumer: str) -> AsyncIterator[Life]:
    """Until the end of the block; the stream's subject is its name in small letters."""
    client = await nats.connect(
        cluster.urls,
        user=APP.user,
        password=APP.password,
        max_reconnect_attempts=-1,
        reconnect_time_wait=0.05,
        error_cb=_expected,
    )
    lived = Life()
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_publish(client, stream.lower(), lived))
            group.create_task(_consume(client, stream, consumer, lived))
            try:
                yield lived
            finally:
                # Not by cancelling: the library takes that for a failure of its own and goes on.
                lived.over = True
    finally:
        await client.close()


async def _expected(_: Exception) -> None:
    """Lost connections are what these tests are about."""


async def _publish(client: Client, subject: str, lived: Life) -> None:
    jetstream = client.jetstream(timeout=PATIENCE_SECONDS)
    while not lived.over:
        with suppress(*FAILURES):  # no leader at the moment: the next one may go through
            lived.stored = (await jetstream.publish(subject, b"x")).seq
        await asyncio.sleep(PAUSE_SECONDS)


async def _consume(client: Client, stream: str, consumer: str, lived: Life) -> None:
    jetstream = client.jetstream(timeout=PATIENCE_SECONDS)
    while not lived.over:
        with suppress(*FAILURES):
            puller = await jetstream.pull_subscribe_bind(consumer, stream)
            while not lived.over:
                for message in await puller.fetch(5, timeout=PATIENCE_SECONDS):
                    lived.delivered = message.metadata.sequence.consumer
                    await message.ack()
        await asyncio.sleep(PAUSE_SECONDS)
