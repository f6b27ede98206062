"""Moves consumers of a large population: each gets a message and acknowledges it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg

from bench.big_server import BigServer
from bench.population import consumer_name, stream_name
from streamgauge.cancellation import cancel

_AT_ONCE = 100  # streams
_PULL = b'{"batch":1,"expires":30000000000}'
_EVERY = 1.0  # seconds


class Movement:
    """All consumers of a stream move with it. Their backlog stays as it was."""

    def __init__(self, client: Client, consumers_each: int) -> None:
        self._client, self._each = client, consumers_each
        self._inbox = client.new_inbox()
        self._missing, self._complete = 0, asyncio.Event()

    @classmethod
    @asynccontextmanager
    async def by(cls, url: str, consumers_each: int) -> AsyncIterator[Movement]:
        client = await nats.connect(url)
        try:
            made = cls(client, consumers_each)
            await client.subscribe(made._inbox, cb=made._acknowledge)
            yield made
        finally:
            await client.close()

    async def move(self, streams: range) -> None:
        """By one message each; returns when every message is acknowledged."""
        for first in range(0, len(streams), _AT_ONCE):
            some = streams[first : first + _AT_ONCE]
            self._missing = len(some) * self._each
            self._complete.clear()
            for number in some:
                await self._client.publish(f"events.{number:05d}.a", b"x" * 50)
                for place in range(self._each):
                    name = f"{stream_name(number)}.{consumer_name(place)}"
                    subject = f"$JS.API.CONSUMER.MSG.NEXT.{name}"
                    await self._client.publish(subject, _PULL, reply=self._inbox)
            await self._complete.wait()
        await self._client.flush(timeout=60)

    async def _acknowledge(self, message: Msg) -> None:
        await self._client.publish(message.reply, b"+ACK")
        self._missing -= 1
        if not self._missing:
            self._complete.set()


def share_of(streams: int, share: float) -> range:
    """The first ones; at least one where any move."""
    return range(max(1, round(streams * share)) if share else 0)


@asynccontextmanager
async def moving(big: BigServer, share: float) -> AsyncIterator[None]:
    """That share of the consumers moves every second, until the end of the block."""

    async def move_on(movement: Movement) -> None:
        while True:
            await movement.move(share_of(big.size.streams, share))
            await asyncio.sleep(_EVERY)

    async with Movement.by(big.address("app"), big.size.consumers_each) as movement:
        task = asyncio.create_task(move_on(movement))
        try:
            yield
        finally:
            await cancel([task])
            if not task.cancelled():
                task.result()
