"""A key-value bucket whose keys are overwritten for ever."""

import asyncio
from itertools import count

from nats.js import JetStreamContext
from nats.js.api import KeyValueConfig

BUCKET = "settings"
KEYS = 20
WRITES_PER_SECOND = 2


async def prepare(jetstream: JetStreamContext) -> None:
    await jetstream.create_key_value(KeyValueConfig(bucket=BUCKET, history=3))


async def write(jetstream: JetStreamContext) -> None:
    bucket = await jetstream.key_value(BUCKET)
    for number in count(1):
        await bucket.put(f"shop.{number % KEYS}", str(number).encode())
        await asyncio.sleep(1 / WRITES_PER_SECOND)
