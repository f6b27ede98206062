"""Event listeners on real servers for tests."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import TimeoutError as NatsTimeoutError
from nats.js.client import JetStreamContext
from support.nats.servers import APP, Login, NatsCluster, NatsServer
from support.waiting import until

from exporter.events.connection import EventConnection
from exporter.events.counts import ConsumerCounts, EventCounts, StreamCounts
from exporter.events.listener import Listener, ListenerConfig
from exporter.events.state import EventState
from exporter.sources.transport.credentials import NatsAccess

NOTHING_OF_IT = ConsumerCounts()


class Runs(Protocol):
    connection: EventConnection

    async def run(self) -> None: ...


def access_to(server: NatsServer | NatsCluster, login: Login = APP, **more: Any) -> NatsAccess:
    urls = server.urls if isinstance(server, NatsCluster) else [server.url]
    return NatsAccess(tuple(urls), user=login.user, password=login.password, **more)


def new_state(account: str = "APP") -> EventState:
    state = EventState()
    state.name_account(account)
    return state


@asynccontextmanager
async def running(listening: Runs) -> AsyncIterator[None]:
    """Runs it until the end of the block, from the moment that it listens."""
    task = asyncio.create_task(listening.run())
    try:
        await until_connected(listening.connection)
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until_connected(connection: EventConnection, *, not_since: float | None = None) -> float:
    """`not_since`: a connection that is over."""

    async def since() -> float | None:
        return connection.connected_since

    found = await until(
        since,
        lambda seen: seen is not None and seen != not_since,
        f"{connection.name}: {connection.problem}",
    )
    assert found is not None
    return found


@asynccontextmanager
async def listening(
    server: NatsServer | NatsCluster, login: Login = APP, **config: Any
) -> AsyncIterator[Listener]:
    state = config.pop("state", None) or new_state()
    listener = Listener(ListenerConfig(access_to(server, login), "test", **config), state)
    async with running(listener):
        yield listener


async def until_received(
    state: EventState, holds: Callable[[EventCounts], bool], otherwise: str = "not received"
) -> EventCounts:
    async def counts() -> EventCounts:
        return state.counts()

    return await until(counts, holds, otherwise)


_NO_SUITABLE_PEERS: Final = 10_005


async def request(
    client: Client, subject: str, body: dict[str, Any] | None = None, timeout: float = 20
) -> dict[str, Any]:
    """The response of the JetStream API; an API error is an error of the test."""
    payload = b"" if body is None else json.dumps(body).encode()
    reply = await client.request(f"$JS.API.{subject}", payload, timeout=timeout)
    response: dict[str, Any] = json.loads(reply.data)
    assert "error" not in response, (subject, response["error"])
    return response


async def request_with_retry(client: Client, subject: str, body: dict[str, Any]) -> dict[str, Any]:
    """For idempotent creates on a cluster that has just started: it may lose requests, and not know its peers."""

    async def response() -> dict[str, Any]:
        try:
            reply = await client.request(
                f"$JS.API.{subject}", json.dumps(body).encode(), timeout=10
            )
        except NatsTimeoutError:
            return {"error": {"err_code": 0, "description": "no response"}}
        found: dict[str, Any] = json.loads(reply.data)
        return found

    def is_final(found: dict[str, Any]) -> bool:
        return found.get("error", {}).get("err_code") not in (0, _NO_SUITABLE_PEERS)

    found = await until(response, is_final, f"{subject}: refused")
    assert "error" not in found, (subject, found["error"])
    return found


async def end_mark(client: Client, number: int) -> None:
    """Creates a stream only for its advisory."""
    name = f"END{number}"
    await request(client, f"STREAM.CREATE.{name}", {"name": name, "storage": "memory",
                                                "subjects": [f"end.{number}"]})  # fmt: skip


async def all_received(
    state: EventState, client: Client, enough: Callable[[EventCounts], bool]
) -> EventCounts:
    """The counts once they are enough and a later event has arrived too.

    A server sends the events of one stream in order, but not in step with other streams. So the
    test waits for the expected events; the later event only gives time for unexpected ones.
    """
    await until_received(state, enough)
    before = state.counts().advisories.get(("APP", "stream_created"), 0)
    await end_mark(client, before)
    return await until_received(
        state, lambda seen: seen.advisories.get(("APP", "stream_created"), 0) > before
    )


async def fetch(orders: JetStreamContext.PullSubscription, count: int) -> list[Msg]:
    """Just so many: a pull may bring fewer when the rest is not ready yet."""
    messages: list[Msg] = []
    while len(messages) < count:
        messages += await orders.fetch(count - len(messages), timeout=20)
    return messages


def worker_of(counts: EventCounts, stream: str = "ORDERS") -> ConsumerCounts:
    return counts.consumers.get(("APP", stream, "worker"), NOTHING_OF_IT)


def stream_of(counts: EventCounts, stream: str = "ORDERS") -> StreamCounts:
    return counts.streams.get(("APP", stream), StreamCounts())


def terms_of(counts: EventCounts) -> int:
    return sum(number for _, number in worker_of(counts).terms)
