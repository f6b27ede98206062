"""How the demo's streams are made: bounded, so that a demo left alone over night stays small."""

from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DiscardPolicy, StreamConfig

MAX_AGE_SECONDS = 3600.0
MAX_MESSAGES = 100_000


async def add_stream(
    jetstream: JetStreamContext, name: str, subjects: str, duplicate_window: float = 120.0
) -> None:
    """A stream on file that keeps an hour."""
    await jetstream.add_stream(
        StreamConfig(
            name=name,
            subjects=[subjects],
            max_age=MAX_AGE_SECONDS,
            max_msgs=MAX_MESSAGES,
            discard=DiscardPolicy.OLD,
            duplicate_window=duplicate_window,
        )
    )


async def add_consumer(
    jetstream: JetStreamContext,
    stream: str,
    name: str,
    *,
    ack_wait: float = 30.0,
    max_ack_pending: int = 1000,
    max_deliver: int | None = None,
    deliver_subject: str | None = None,
) -> None:
    """A durable consumer with explicit acks; a push consumer when it has a deliver subject."""
    await jetstream.add_consumer(
        stream,
        ConsumerConfig(
            durable_name=name,
            ack_policy=AckPolicy.EXPLICIT,
            ack_wait=ack_wait,
            max_ack_pending=max_ack_pending,
            max_deliver=max_deliver,
            deliver_subject=deliver_subject,
        ),
    )
