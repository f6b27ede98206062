"""So many requests at once that they wait at the server, for as long as the block lasts."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from nats.aio.client import Client
from nats.aio.msg import Msg
from support.recordings.scenario import Api

STREAM: Final = "WIDE"
# Each request goes over all of them: that takes the server some milliseconds.
SUBJECTS: Final = 4_000
REQUEST: Final = f"$JS.API.STREAM.INFO.{STREAM}"
# A page behind the last one: the work is done, and the answer is small.
REQUEST: Final = json.dumps({"subjects_filter": ">", "offset": 1_000_000}).encode()


async def make_wide_stream(client: Client) -> None:
    api = Api(client)
    await api.stream(STREAM, subjects=["wide.*"], storage="memory")
    for number in range(SUBJECTS):
        await client.publish(f"wide.{number}")
    # Publishes of one connection are taken in their order.
    await api.jetstream.publish("wide.last")


@asynccontextmanager
async def flooded(client: Client, waiting: int) -> AsyncIterator[None]:
    """For each answer comes another request; at the end all of them are answered."""
    left, over, succeeded = waiting, False, asyncio.Event()
    inbox = client.new_inbox()

    async def ask_again(_: Msg) -> None:
        nonlocal left
        if not over:
            return await client.publish(REQUEST, REQUEST, inbox)
        left -= 1
        if left == 0:
            succeeded.set()
        return None

    heard = await client.subscribe(inbox, cb=ask_again)
    for _ in range(waiting):
        await client.publish(REQUEST, REQUEST, inbox)
    try:
        yield
    finally:
        over = True
        await succeeded.wait()
        await heard.unsubscribe()
