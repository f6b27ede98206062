"""ORDERS: a steady publisher and two readers, one healthy, one that falls behind and catches up."""

import asyncio
from collections.abc import Sequence

from nats.aio.msg import Msg

from streamgauge.demo.actors.context import Stage, ack_all
from streamgauge.demo.faults.fault import Work

ORDERS_PER_SECOND = 10
# Slower than the publisher for half of the time, faster for the other half.
DAWDLING_SECONDS_PER_MESSAGE = 0.4
HURRYING_SECONDS_PER_MESSAGE = 0.02
MOOD_SECONDS = 30.0


async def prepare(stage: Stage) -> None:
    await stage.add_stream("ORDERS", "orders.>")
    await stage.add_consumer("ORDERS", "healthy")
    await stage.add_consumer("ORDERS", "slow")


def actors(stage: Stage) -> Sequence[Work]:
    return (
        stage.publish_for_ever("orders.new", ORDERS_PER_SECOND),
        stage.pull_for_ever("ORDERS", "healthy", ack_all),
        _consume_slowly(stage),
    )


async def _consume_slowly(stage: Stage) -> None:
    """Acks after a while: the backlog rises for half a minute and falls in the next."""
    clock = asyncio.get_running_loop().time
    started = clock()

    async def ack_with_pauses(messages: list[Msg]) -> None:
        for message in messages:
            dawdling = (clock() - started) % (2 * MOOD_SECONDS) < MOOD_SECONDS
            pause = DAWDLING_SECONDS_PER_MESSAGE if dawdling else HURRYING_SECONDS_PER_MESSAGE
            await asyncio.sleep(pause)
            await message.ack()

    await stage.pull_for_ever("ORDERS", "slow", ack_with_pauses)
