"""Sends so many API requests at once that they queue on the server."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from nats.aio.client import Client
from nats.aio.msg import Msg
from support.recordings.scenario import Api

STREAM: Final = "WIDE"
# Each request scans all subjects, which takes the server some milliseconds.
SUBJECTS: Final = 4_000
SUBJECT: Final = f"$JS.API.STREAM.INFO.{STREAM}"
# An offset behind the last page: full scan, small response.
REQUEST: Final = json.dumps({"subjects_filter": ">", "offset": 1_000_000}).encode()


async def make_wide_stream(client: Client) -> None:
    api = Api(client)
    await api.stream(STREAM, subjects=["wide.*"], storage="memory")
    for number in range(SUBJECTS):
        await client.publish(f"wide.{number}")
    # Publishes of one connection are processed in order.
    await api.jetstream.publish("wide.last")


@asynccontextmanager
async def flooded(client: Client, waiting: int) -> AsyncIterator[None]:
    """Keeps `waiting` requests in flight; waits for all responses at the end."""
    left, over, succeeded = waiting, False, asyncio.Event()
    inbox = client.new_inbox()

    async def request_again(_: Msg) -> None:
        nonlocal left
        if not over:
            return await client.publish(SUBJECT, REQUEST, inbox)
        left -= 1
        if left == 0:
            succeeded.set()
        return None

    subscription = await client.subscribe(inbox, cb=request_again)
    for _ in range(waiting):
        await client.publish(SUBJECT, REQUEST, inbox)
    try:
        yield
    finally:
        over = True
        await succeeded.wait()
        await subscription.unsubscribe()
