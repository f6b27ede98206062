"""SIGNUPS: a publisher that sends everything three times under the same message id."""

import asyncio
from itertools import count

from nats.aio.msg import Msg
from nats.js import JetStreamContext

from streamgauge.demo.actors.pulling import pull_for_ever
from streamgauge.demo.actors.streams import add_consumer, add_stream

SIGNUPS_PER_SECOND = 2
COPIES = 3


async def prepare(jetstream: JetStreamContext) -> None:
    await add_stream(jetstream, "SIGNUPS", "signups.>")
    await add_consumer(jetstream, "SIGNUPS", "deduplicated")


async def publish_copies(jetstream: JetStreamContext) -> None:
    for number in count(1):
        for _ in range(COPIES):
            headers = {"Nats-Msg-Id": f"signup-{number}"}
            await jetstream.publish("signups.new", f"signup {number}".encode(), headers=headers)
        await asyncio.sleep(1 / SIGNUPS_PER_SECOND)


async def consume(jetstream: JetStreamContext) -> None:
    """Acks at once; it sees each signup once, which is what the message id is for."""

    async def ack_all(messages: list[Msg]) -> None:
        for message in messages:
            await message.ack()

    await pull_for_ever(jetstream, "SIGNUPS", "deduplicated", ack_all)
