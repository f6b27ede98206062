"""The NATS connection of the demo's actors, with helpers to create assets, publish and pull."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DiscardPolicy, StreamConfig
from nats.js.errors import APIError
from nats.js.errors import Error as JetStreamError

from streamgauge.demo.nats_server.clock_proxy import WrongClock
from streamgauge.demo.nats_server.cluster import Login, NatsCluster

# Bounded: a demo that runs overnight stays small.
MAX_AGE_SECONDS: Final = 3600.0
MAX_MESSAGES: Final = 100_000
FETCH_DEADLINE_SECONDS: Final = 3.0
RETRY_PAUSE_SECONDS: Final = 1.0
OWNER: Final = Login("app", "app")
REQUEST_ERRORS: Final = (JetStreamError, NatsError, TimeoutError)

log = logging.getLogger(__name__)

Handler = Callable[[list[Msg]], Awaitable[None]]


@dataclass
class ActorContext:
    """One account of a running NATS system. `cluster` is None for a single server."""

    client: Client
    jetstream: JetStreamContext
    clock: WrongClock = field(default_factory=WrongClock)
    cluster: NatsCluster | None = None

    async def add_stream(self, name: str, subjects: str, **settings: Any) -> None:
        """A file stream that keeps one hour."""
        usual: dict[str, Any] = {
            "max_age": MAX_AGE_SECONDS,
            "max_msgs": MAX_MESSAGES,
            "discard": DiscardPolicy.OLD,
            "duplicate_window": 120.0,
            "num_replicas": 3 if self.cluster else 1,
        }
        await self.jetstream.add_stream(
            StreamConfig(name=name, subjects=[subjects], **(usual | settings))
        )

    async def add_consumer(self, stream: str, name: str, **settings: Any) -> None:
        """A durable consumer with explicit acks; a push consumer if it has a deliver subject."""
        usual: dict[str, Any] = {
            "ack_policy": AckPolicy.EXPLICIT,
            "ack_wait": 30.0,
            "max_ack_pending": 1000,
        }
        await self.jetstream.add_consumer(
            stream, ConsumerConfig(durable_name=name, **(usual | settings))
        )

    async def publish(self, subject: str, **headers: str) -> bool:
        """Whether the stream stored it. A server that is down is logged and does not end the actor."""
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        try:
            await self.jetstream.publish(subject, subject.encode(), headers=named or None)
        except APIError:  # rejected, which some faults intend
            return False
        except REQUEST_ERRORS as error:
            log.warning("publish failed: subject=%s error=%s", subject, type(error).__name__)
            await asyncio.sleep(RETRY_PAUSE_SECONDS)
            return False
        return True

    async def publish_for_ever(self, subject: str, per_second: float) -> None:
        while True:
            await self.publish(subject)
            await asyncio.sleep(1 / per_second)

    async def pull_once(self, stream: str, consumer: str, handle: Handler, batch: int) -> None:
        """One pull request. No message is no error, and the consumer may be deleted for a while."""
        try:
            pull = await self.jetstream.pull_subscribe_bind(durable=consumer, stream=stream)
            try:
                messages = await pull.fetch(batch, timeout=FETCH_DEADLINE_SECONDS)
            finally:
                await pull.unsubscribe()
        except TimeoutError:  # of nats-py or of Python
            return
        except (JetStreamError, NatsError):
            await asyncio.sleep(RETRY_PAUSE_SECONDS)
            return
        await handle(messages)

    async def pull_for_ever(
        self, stream: str, consumer: str, handle: Handler, *, batch: int = 10
    ) -> None:
        while True:
            await self.pull_once(stream, consumer, handle, batch)


async def ack_all(messages: list[Msg]) -> None:
    for message in messages:
        await message.ack()
