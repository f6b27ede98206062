"""ORDERS: a steady publisher and two readers, one healthy, one that falls behind and catches up."""

import asyncio
from itertools import count

from nats.aio.msg import Msg
from nats.js import JetStreamContext

from streamgauge.demo.actors.pulling import pull_for_ever
from streamgauge.demo.actors.streams import add_consumer, add_stream

ORDERS_PER_SECOND = 10
# Slower than the publisher for half of the time, faster for the other half.
DAWDLING_SECONDS_PER_MESSAGE = 0.4
HURRYING_SECONDS_PER_MESSAGE = 0.02
MOOD_SECONDS = 30.0


async def prepare(jetstream: JetStreamContext) -> None:
    await add_stream(jetstream, "ORDERS", "orders.>")
    await add_consumer(jetstream, "ORDERS", "healthy")
    await add_consumer(jetstream, "ORDERS", "slow")


async def publish(jetstream: JetStreamContext) -> None:
    for number in count(1):
        await jetstream.publish("orders.new", f"order {number}".encode())
        await asyncio.sleep(1 / ORDERS_PER_SECOND)


async def consume_healthily(jetstream: JetStreamContext) -> None:
    """Acks at once."""

    async def ack_all(messages: list[Msg]) -> None:
        for message in messages:
            await message.ack()

    await pull_for_ever(jetstream, "ORDERS", "healthy", ack_all)


async def consume_slowly(jetstream: JetStreamContext) -> None:
    """Acks after a while: the backlog rises for half a minute and falls in the next."""
    clock = asyncio.get_running_loop().time
    started = clock()

    async def ack_with_pauses(messages: list[Msg]) -> None:
        for message in messages:
            dawdling = (clock() - started) % (2 * MOOD_SECONDS) < MOOD_SECONDS
            pause = DAWDLING_SECONDS_PER_MESSAGE if dawdling else HURRYING_SECONDS_PER_MESSAGE
            await asyncio.sleep(pause)
            await message.ack()

    await pull_for_ever(jetstream, "ORDERS", "slow", ack_with_pauses)
