"""PAYMENTS/stuck: took all that it may hold unacked and never acks; the backlog only grows."""

import asyncio
from itertools import count

from nats.aio.msg import Msg
from nats.js import JetStreamContext

from streamgauge.demo.actors.pulling import pull_for_ever
from streamgauge.demo.actors.streams import add_consumer, add_stream

PAYMENTS_PER_SECOND = 5
MAX_ACK_PENDING = 20
ACK_WAIT_SECONDS = 30.0
# It says "still at work" in time, so nothing is delivered again: it is stuck and not poisoned.
HEARTBEAT_SECONDS = 10.0


async def prepare(jetstream: JetStreamContext) -> None:
    await add_stream(jetstream, "PAYMENTS", "payments.>")
    await add_consumer(
        jetstream,
        "PAYMENTS",
        "stuck",
        ack_wait=ACK_WAIT_SECONDS,
        max_ack_pending=MAX_ACK_PENDING,
    )


async def publish(jetstream: JetStreamContext) -> None:
    for number in count(1):
        await jetstream.publish("payments.due", f"payment {number}".encode())
        await asyncio.sleep(1 / PAYMENTS_PER_SECOND)


async def consume_without_acks(jetstream: JetStreamContext) -> None:
    """Keeps pulling: at max_ack_pending the server gives nothing more."""
    held: list[Msg] = []

    async def hold(messages: list[Msg]) -> None:
        held.extend(messages)

    async def say_still_at_work() -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            for message in held:
                await message.in_progress()

    async with asyncio.TaskGroup() as both:
        both.create_task(say_still_at_work())
        both.create_task(pull_for_ever(jetstream, "PAYMENTS", "stuck", hold, batch=MAX_ACK_PENDING))
