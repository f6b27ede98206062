"""A workload whose every number is known: what was published, delivered, acked and left behind.

What the exporter must say of it is, in literal numbers, in the tests that use it.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import AckPolicy, ConsumerConfig, StreamConfig, StreamSource
from nats.js.client import JetStreamContext
from nats.js.errors import BadRequestError, NoStreamResponseError, ServiceUnavailableError
from support.nats.servers import APP, OTHER, Login, NatsCluster, NatsServer, connected
from support.waiting import PAUSE_SECONDS, until

PATIENCE_SECONDS: Final = 30.0
IMPATIENCE_SECONDS: Final = 3.0
PAUSES_SINCE: Final = (2, 11)
METADATA_SINCE: Final = (2, 10)
NO_SUITABLE_PEERS: Final = 10005


def version_of(place: NatsServer | NatsCluster) -> tuple[int, ...]:
    server = place.nodes[0] if isinstance(place, NatsCluster) else place
    return tuple(int(number) for number in server.version.split("."))


@dataclass(frozen=True)
class Workshop:
    """A client that does what a test says, and knows when the server has done it."""

    client: Client
    jetstream: JetStreamContext
    stream: str = "ORDERS"

    async def api(self, subject: str, **request: object) -> dict[str, Any]:
        payload = json.dumps(request).encode() if request else b""
        reply = await self.client.request(f"$JS.API.{subject}", payload, timeout=PATIENCE_SECONDS)
        response: dict[str, Any] = json.loads(reply.data)
        assert "error" not in response, (subject, response["error"])
        return response

    async def store(self, config: StreamConfig) -> None:
        await _insisting(partial(self._manager().add_stream, config))

    async def publish(self, subject: str, payload: bytes = b"x") -> None:
        """Once and not twice: it waits for its ack as long as the whole of the patience."""
        await _insisting(partial(self.jetstream.publish, subject, payload))

    async def consumer(self, name: str, **config: Any) -> None:
        settings: dict[str, Any] = {"ack_policy": AckPolicy.EXPLICIT, "max_ack_pending": 1000}
        wanted = ConsumerConfig(durable_name=name, **settings | config)
        await _insisting(partial(self._manager().add_consumer, self.stream, wanted))

    def _manager(self) -> JetStreamContext:
        # During an election a request may get no response; creating twice does no harm.
        return self.client.jetstream(timeout=IMPATIENCE_SECONDS)

    async def fetch(self, consumer: str, count: int) -> list[Msg]:
        puller = await self.jetstream.pull_subscribe_bind(consumer, self.stream)
        found: list[Msg] = []
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(found) < count:
                # A new consumer's leader may not be known yet where this client is connected.
                with suppress(ServiceUnavailableError):
                    found += await puller.fetch(count - len(found), timeout=PATIENCE_SECONDS)
        await puller.unsubscribe()
        return found

    async def ack(self, *messages: Msg) -> None:
        for message in messages:
            await message.ack_sync(timeout=PATIENCE_SECONDS)

    async def refuse(self, *messages: Msg) -> None:
        """As a request: once it gets a response, the message waits to be delivered again."""
        for message in messages:
            await self.client.request(message.reply, b"-NAK", timeout=PATIENCE_SECONDS)


async def _insisting(do: Callable[[], Awaitable[object]]) -> None:
    """Servers of a new cluster may not trust each other with a stream yet, nor know its leader."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            try:
                await do()
            except (NoStreamResponseError, nats.errors.TimeoutError):
                pass
            except BadRequestError as error:
                if error.err_code != NO_SUITABLE_PEERS:
                    raise
            else:
                return
            await asyncio.sleep(PAUSE_SECONDS)


@asynccontextmanager
async def workshop(place: NatsServer | NatsCluster, user: Login = APP) -> AsyncIterator[Workshop]:
    async with connected(place, user) as client:
        yield Workshop(client, client.jetstream(timeout=PATIENCE_SECONDS))


@asynccontextmanager
async def known_workload(place: NatsServer | NatsCluster) -> AsyncIterator[None]:
    """Four streams, thirteen consumers; open pulls and a bound push consumer live inside."""
    replicas = len(place.nodes) if isinstance(place, NatsCluster) else 1
    async with workshop(place) as shop:
        await _streams(shop, replicas)
        await _another_account(place)
        await _pulled(shop)
        await _retried(shop)
        await _untouched(shop, version_of(place))
        await _pushed(shop)
        await _open_pulls(shop)
        await until(
            lambda: shop.api("STREAM.INFO.COPY"),
            lambda seen: bool(seen["state"]["messages"] == 100 and seen["mirror"]["lag"] == 0),
            "the mirror does not catch up",
        )
        yield


async def _streams(shop: Workshop, replicas: int) -> None:
    await shop.store(
        StreamConfig(
            name="ORDERS",
            subjects=["orders.>"],
            num_replicas=replicas,
            max_msgs=1000,
            max_bytes=10 * 1024 * 1024,
            max_age=3600,
            max_consumers=50,
            max_msgs_per_subject=500,
            duplicate_window=60,
        )
    )
    for number in range(1, 101):
        subject = "orders.eu" if number % 4 == 0 else "orders.us"
        await shop.publish(subject, b"0123456789")
    await shop.store(StreamConfig(name="INVOICES", subjects=["invoices"], num_replicas=1))
    for _ in range(20):
        await shop.publish("invoices")
    await shop.jetstream.purge_stream("INVOICES", seq=6)
    await shop.jetstream.delete_msg("INVOICES", 10)
    await shop.store(StreamConfig(name="COPY", mirror=StreamSource(name="ORDERS"), num_replicas=1))


async def _another_account(place: NatsServer | NatsCluster) -> None:
    async with workshop(place, OTHER) as shop:
        await shop.store(StreamConfig(name="NOTES", subjects=["notes"], num_replicas=1))
        await shop.publish("notes")


async def _pulled(shop: Workshop) -> None:
    owner = {"io.nats.monitor.outstanding-ack-critical": "400"}
    await shop.consumer("worker", max_ack_pending=500, max_deliver=5, ack_wait=45, metadata=owner)
    await shop.ack(*(await shop.fetch("worker", 40))[:30])
    await shop.consumer("holes")
    got = await shop.fetch("holes", 20)
    await shop.ack(*(message for place, message in enumerate(got, 1) if place not in (5, 12)))
    await shop.consumer("eu", filter_subject="orders.eu")
    await shop.ack(*(await shop.fetch("eu", 10))[:6])
    await shop.consumer("audit", ack_policy=AckPolicy.NONE, max_ack_pending=None)
    await shop.fetch("audit", 25)


async def _retried(shop: Workshop) -> None:
    await shop.consumer("retried")
    got = await shop.fetch("retried", 10)
    await shop.ack(*got[:2])
    await shop.refuse(*got[2:6])
    await shop.fetch("retried", 4)
    # Its first message is refused twice, which is all it gets; the next pull gives it up.
    await shop.consumer("poison", max_deliver=2)
    first, *others = await shop.fetch("poison", 3)
    await shop.refuse(first)
    await shop.refuse(*await shop.fetch("poison", 1))
    await shop.ack(*others, *await shop.fetch("poison", 1))


async def _untouched(shop: Workshop, version: tuple[int, ...]) -> None:
    await shop.consumer("untouched")
    await shop.consumer("patient", backoff=[2, 6, 9], max_deliver=5)
    await shop.consumer("paused")
    if version >= PAUSES_SINCE:
        end = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
        await shop.api("CONSUMER.PAUSE.ORDERS.paused", pause_until=end)
    # Named, but not durable: it would go with its user.
    ephemeral = {"name": "glance", "ack_policy": "explicit", "inactive_threshold": 300 * 10**9}
    await shop.api("CONSUMER.CREATE.ORDERS.glance", stream_name="ORDERS", config=ephemeral)


async def _pushed(shop: Workshop) -> None:
    inbox, arrived = shop.client.new_inbox(), asyncio.Queue[Msg]()
    await shop.client.subscribe(inbox, cb=arrived.put)
    await shop.consumer("push", deliver_subject=inbox, max_ack_pending=20)
    async with asyncio.timeout(PATIENCE_SECONDS):
        for _ in range(20):
            await arrived.get()
    await shop.consumer("unbound", deliver_subject="nobody.listens")


async def _open_pulls(shop: Workshop) -> None:
    await shop.consumer("waiting", filter_subject="orders.none")
    inbox = shop.client.new_inbox()
    await shop.client.subscribe(inbox)
    pull = json.dumps({"batch": 1, "expires": 600 * 10**9}).encode()
    for _ in range(2):
        await shop.client.publish("$JS.API.CONSUMER.MSG.NEXT.ORDERS.waiting", pull, reply=inbox)
    await until(
        lambda: shop.api("CONSUMER.INFO.ORDERS.waiting"),
        lambda seen: bool(seen["num_waiting"] == 2),
        "the pulls do not arrive",
    )
