"""In a cluster a stream is made before it listens: the first message is sent until it is stored."""

from support.waiting import until

from nats.js import JetStreamContext
from nats.js.errors import NoStreamResponseError


async def store_first_message(jetstream: JetStreamContext, subject: str) -> None:
    async def is_stored() -> bool:
        try:
            await jetstream.publish(subject, b"1")
        except NoStreamResponseError:
            return False
        return True

    await until(is_stored, bool, "the new stream takes no message")
