"""The pull loop that the consumers of the demo share: what differs is what they do with a message."""

from collections.abc import Awaitable, Callable

from nats.aio.msg import Msg
from nats.js import JetStreamContext

FETCH_DEADLINE_SECONDS = 5.0


async def pull_for_ever(
    jetstream: JetStreamContext,
    stream: str,
    consumer: str,
    handle: Callable[[list[Msg]], Awaitable[None]],
    *,
    batch: int = 10,
) -> None:
    """Fetches batches and hands them over; an empty fetch is no event."""
    subscription = await jetstream.pull_subscribe_bind(durable=consumer, stream=stream)
    while True:
        try:
            messages = await subscription.fetch(batch, timeout=FETCH_DEADLINE_SECONDS)
        except TimeoutError:  # the library raises its own class or the plain one
            continue
        await handle(messages)
