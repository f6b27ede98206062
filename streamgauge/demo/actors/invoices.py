"""INVOICES/poison: one kind of message fails each time, until max_deliver gives it up."""

import asyncio
from itertools import count

from nats.aio.msg import Msg
from nats.js import JetStreamContext

from streamgauge.demo.actors.pulling import pull_for_ever
from streamgauge.demo.actors.streams import add_consumer, add_stream

INVOICES_PER_SECOND = 4
MAX_DELIVER = 5
ACK_WAIT_SECONDS = 2.0
RETRY_SECONDS = 1.0
EVERY_TENTH = 10
BROKEN = "invoices.broken"


async def prepare(jetstream: JetStreamContext) -> None:
    await add_stream(jetstream, "INVOICES", "invoices.>")
    await add_consumer(
        jetstream, "INVOICES", "poison", ack_wait=ACK_WAIT_SECONDS, max_deliver=MAX_DELIVER
    )


async def publish(jetstream: JetStreamContext) -> None:
    for number in count(1):
        subject = BROKEN if number % EVERY_TENTH == 0 else "invoices.fine"
        await jetstream.publish(subject, f"invoice {number}".encode())
        await asyncio.sleep(1 / INVOICES_PER_SECOND)


async def consume_and_choke(jetstream: JetStreamContext) -> None:
    """Refuses every other broken one and says nothing of the rest: naks and timeouts both show."""

    async def ack_or_choke(messages: list[Msg]) -> None:
        for message in messages:
            if message.subject != BROKEN:
                await message.ack()
            elif message.metadata.sequence.stream % (2 * EVERY_TENTH) == 0:
                await message.nak(delay=RETRY_SECONDS)

    await pull_for_ever(jetstream, "INVOICES", "poison", ack_or_choke)
