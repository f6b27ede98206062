"""A key-value bucket whose keys are overwritten for ever."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from itertools import count

from nats.js.api import KeyValueConfig

from streamgauge.demo.actors.context import UNHEARD, Stage
from streamgauge.demo.faults.fault import Work

BUCKET = "settings"
KEYS = 20
WRITES_PER_SECOND = 2


async def prepare(stage: Stage) -> None:
    replicas = 3 if stage.cluster else 1
    await stage.jetstream.create_key_value(
        KeyValueConfig(bucket=BUCKET, history=3, replicas=replicas)
    )


def actors(stage: Stage) -> Sequence[Work]:
    return (_write(stage),)


async def _write(stage: Stage) -> None:
    bucket = await stage.jetstream.key_value(BUCKET)
    for number in count(1):
        with suppress(*UNHEARD):
            await bucket.put(f"shop.{number % KEYS}", str(number).encode())
        await asyncio.sleep(1 / WRITES_PER_SECOND)
