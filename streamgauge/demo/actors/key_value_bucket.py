"""A key-value bucket with a writer that overwrites its keys."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from itertools import count

from nats.js.api import KeyValueConfig

from streamgauge.demo.actors.context import REQUEST_ERRORS, ActorContext
from streamgauge.demo.faults.fault import Work

BUCKET = "settings"
KEYS = 20
WRITES_PER_SECOND = 2


async def prepare(context: ActorContext) -> None:
    replicas = 3 if context.cluster else 1
    await context.jetstream.create_key_value(
        KeyValueConfig(bucket=BUCKET, history=3, replicas=replicas)
    )


def actors(context: ActorContext) -> Sequence[Work]:
    return (_write(context),)


async def _write(context: ActorContext) -> None:
    bucket = await context.jetstream.key_value(BUCKET)
    for number in count(1):
        with suppress(*REQUEST_ERRORS):
            await bucket.put(f"shop.{number % KEYS}", str(number).encode())
        await asyncio.sleep(1 / WRITES_PER_SECOND)
