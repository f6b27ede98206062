"""NOTICES/push: a push consumer with a subscriber that acks."""

import asyncio
from itertools import count

from nats.js import JetStreamContext

from streamgauge.demo.actors.streams import add_consumer, add_stream

NOTICES_PER_SECOND = 1
DELIVER_SUBJECT = "deliver.notices"


async def prepare(jetstream: JetStreamContext) -> None:
    await add_stream(jetstream, "NOTICES", "notices.>")
    await add_consumer(jetstream, "NOTICES", "push", deliver_subject=DELIVER_SUBJECT)


async def publish(jetstream: JetStreamContext) -> None:
    for number in count(1):
        await jetstream.publish("notices.new", f"notice {number}".encode())
        await asyncio.sleep(1 / NOTICES_PER_SECOND)


async def consume(jetstream: JetStreamContext) -> None:
    info = await jetstream.consumer_info("NOTICES", "push")
    subscription = await jetstream.subscribe_bind("NOTICES", info.config, "push", manual_ack=True)
    async for message in subscription.messages:
        await message.ack()
