"""The stream ORDERS: one publisher and two consumers; one falls behind and catches up in turns."""

import asyncio
from collections.abc import Sequence

from nats.aio.msg import Msg

from streamgauge.demo.actors.context import ActorContext, ack_all
from streamgauge.demo.faults.fault import Work

ORDERS_PER_SECOND = 10
# Slower than the publisher in one phase, faster in the next.
SLOW_SECONDS_PER_MESSAGE = 0.4
FAST_SECONDS_PER_MESSAGE = 0.02
PHASE_SECONDS = 30.0


async def prepare(context: ActorContext) -> None:
    await context.add_stream("ORDERS", "orders.>")
    await context.add_consumer("ORDERS", "healthy")
    await context.add_consumer("ORDERS", "slow")


def actors(context: ActorContext) -> Sequence[Work]:
    return (
        context.publish_for_ever("orders.new", ORDERS_PER_SECOND),
        context.pull_for_ever("ORDERS", "healthy", ack_all),
        _consume_slowly(context),
    )


async def _consume_slowly(context: ActorContext) -> None:
    """The backlog rises in one phase and falls in the next."""
    clock = asyncio.get_running_loop().time
    started = clock()

    async def ack_with_pauses(messages: list[Msg]) -> None:
        for message in messages:
            slow_phase = (clock() - started) % (2 * PHASE_SECONDS) < PHASE_SECONDS
            pause = SLOW_SECONDS_PER_MESSAGE if slow_phase else FAST_SECONDS_PER_MESSAGE
            await asyncio.sleep(pause)
            await message.ack()

    await context.pull_for_ever("ORDERS", "slow", ack_with_pauses)
