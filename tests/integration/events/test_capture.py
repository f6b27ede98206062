"""Advisories captured in a stream: none is lost over a break, none is counted twice."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from nats.aio.client import Client
from nats.js.client import JetStreamContext
from support.exporter.event_listeners import (
    access_to,
    new_state,
    request,
    running,
    until_connected,
    worker_of,
)
from support.nats.servers import (
    NEWEST,
    Account,
    Login,
    NatsOptions,
    NatsServer,
    Permissions,
    User,
    connected,
    default_options,
)
from support.waiting import until

from exporter.events.capture import Capture
from exporter.events.listener import Listener, ListenerConfig
from exporter.settings.events import OWN_INBOX_PREFIX
from exporter.sources.transport.connection import NatsConnection

STREAM = "ADVISORIES"
CAPTURED = "$JS.EVENT.ADVISORY.CONSUMER.>"


async def make_capture(client: Client, subject: str = CAPTURED, **more: Any) -> None:
    await request(
        client, f"STREAM.CREATE.{STREAM}", {"name": STREAM, "subjects": [subject], **more}
    )


async def make_orders(client: Client) -> JetStreamContext.PullSubscription:
    await request(client, "STREAM.CREATE.ORDERS", {"name": "ORDERS", "subjects": ["orders.>"]})
    await request(client, "CONSUMER.DURABLE.CREATE.ORDERS.worker",
              {"stream_name": "ORDERS", "config":
               # Short: a restarted server has forgotten the nak, and waits for so long.
               {"durable_name": "worker", "ack_policy": "explicit",
                "ack_wait": 1_000_000_000}})  # fmt: skip
    await client.jetstream().publish("orders.new", b"x")
    return await client.jetstream().pull_subscribe_bind("worker", "ORDERS")


class Naks:
    """Naks the one order again and again, and waits until the server has stored that."""

    def __init__(self) -> None:
        self.done = 0

    async def more(self, client: Client, count: int) -> None:
        orders = await client.jetstream().pull_subscribe_bind("worker", "ORDERS")
        before = await self._stored(client)
        for _ in range(count):
            (message,) = await orders.fetch(1, timeout=20)
            await message.nak()
        await client.flush()
        await until(lambda: self._stored(client), lambda now: now >= before + count, "not stored")
        self.done += count

    async def _stored(self, client: Client) -> int:
        info = await request(client, f"STREAM.INFO.{STREAM}")
        last: int = info["state"]["last_seq"]
        return last


@asynccontextmanager
async def capturing(
    server: NatsServer, login: Login | None = None, **how: Any
) -> AsyncIterator[Capture]:
    access = access_to(server, login or Login("app", "app"), inbox_prefix=OWN_INBOX_PREFIX)
    connection = NatsConnection(access, "capture")
    try:
        yield Capture(connection, new_state(), how.pop("stream", STREAM), **how)
    finally:
        await connection.close()


@asynccontextmanager
async def orders_captured(server: NatsServer, **how: Any) -> AsyncIterator[tuple[Client, Capture]]:
    """A consumer whose advisories a stream keeps, and who reads them."""
    async with connected(server) as client, capturing(server, **how) as capture:
        await make_capture(client)
        await make_orders(client)
        yield client, capture


async def first_poll(capture: Capture) -> int:
    await capture.catch_up(time.monotonic() + 20)
    return worker_of(capture.state.counts()).naks


async def test_counting_begins_at_the_first_poll_and_misses_nothing_after_it(
    nats_server: NatsServer,
) -> None:
    naks = Naks()
    async with orders_captured(nats_server) as (client, capture):
        await naks.more(client, 5)
        assert await first_poll(capture) == 0
        await naks.more(client, 70)
        assert await first_poll(capture) == 70
        assert await first_poll(capture) == 70
        await naks.more(client, 1)
        assert await first_poll(capture) == 71
        assert (capture.problem, capture.behind) == ("", 0)
        info = await request(client, f"STREAM.INFO.{STREAM}")
        assert info["state"]["consumer_count"] == 0


async def test_over_breaks_of_the_connection_nothing_is_lost_or_counted_twice(
    nats_server: NatsServer,
) -> None:
    """The live listener beside it leaves consumer advisories alone."""
    naks = Naks()
    async with capturing(nats_server) as capture:
        async with connected(nats_server) as client:
            await make_capture(client)
            await make_orders(client)
        config = ListenerConfig(access_to(nats_server), "test", consumer_advisories=False)
        listener = Listener(config, capture.state)
        async with running(listener):
            await first_poll(capture)
            async with connected(nats_server) as client:
                await naks.more(client, 3)
                assert await first_poll(capture) == 3
                await capture.connection.close()  # away while it happens
                await naks.more(client, 40)
            before = listener.connection.connected_since
            await nats_server.restart()
            async with connected(nats_server) as client:
                await naks.more(client, 2)
                assert await first_poll(capture) == 45
                await until_connected(listener.connection, not_since=before)
                await naks.more(client, 4)
                assert await first_poll(capture) == naks.done == 49
        counts = capture.state.counts()
    assert counts.advisories["APP", "consumer_msg_naked"] == 49


async def test_a_server_outage_is_reported_and_all_is_counted_later(
    nats_server: NatsServer, caplog: pytest.LogCaptureFixture
) -> None:
    naks = Naks()
    async with capturing(nats_server) as capture:
        async with connected(nats_server) as client:
            await make_capture(client)
            await make_orders(client)
            await first_poll(capture)
            await naks.more(client, 3)
        await nats_server.stop()
        assert await first_poll(capture) == 0
        assert await first_poll(capture) == 0
        assert "connection" in capture.problem
        await nats_server.restart()
        assert await first_poll(capture) == 3
        assert capture.problem == ""
    logged = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert logged == ["capture stream cannot be read, consumer events are not counted"]


async def test_the_messages_per_poll_are_bounded_and_the_rest_follows(
    nats_server: NatsServer,
) -> None:
    naks = Naks()
    async with orders_captured(nats_server, most_per_poll=50) as (client, capture):
        await first_poll(capture)
        await naks.more(client, 120)
        assert [(await first_poll(capture), capture.behind) for _ in range(4)] == [
            (50, 70), (100, 20), (120, 0), (120, 0),
        ]  # fmt: skip


async def test_a_deadline_that_has_passed_reads_nothing_and_loses_nothing(
    nats_server: NatsServer,
) -> None:
    naks = Naks()
    async with orders_captured(nats_server) as (client, capture):
        await first_poll(capture)
        await naks.more(client, 5)
        await capture.catch_up(time.monotonic() - 1)
        assert (worker_of(capture.state.counts()).naks, capture.behind) == (0, 5)
        assert await first_poll(capture) == 5


async def test_other_advisories_in_the_same_stream_are_left_to_the_live_listener(
    nats_server: NatsServer,
) -> None:
    naks = Naks()
    async with connected(nats_server) as client, capturing(nats_server) as capture:
        await request(client, f"STREAM.CREATE.{STREAM}",
                  {"name": STREAM, "subjects": [CAPTURED, "$JS.EVENT.ADVISORY.STREAM.>"]})  # fmt: skip
        await first_poll(capture)
        await make_orders(client)
        await naks.more(client, 2)
        assert await first_poll(capture) == 2
        kinds = {kind for _, kind in capture.state.counts().advisories}
    assert kinds == {"consumer_created", "consumer_msg_naked"}


async def test_purged_and_deleted_advisories_are_gaps_and_no_trouble(
    nats_server: NatsServer,
) -> None:
    naks = Naks()
    async with orders_captured(nats_server) as (client, capture):
        await first_poll(capture)
        await naks.more(client, 10)
        last = (await request(client, f"STREAM.INFO.{STREAM}"))["state"]["last_seq"]
        await request(client, f"STREAM.PURGE.{STREAM}", {"keep": 6})
        await request(client, f"STREAM.MSG.DELETE.{STREAM}", {"seq": last - 2})
        assert await first_poll(capture) == 5
        await request(client, f"STREAM.PURGE.{STREAM}")
        assert await first_poll(capture) == 5
        await naks.more(client, 1)
        assert await first_poll(capture) == 6
        assert capture.problem == ""


async def test_a_stream_that_was_made_again_is_counted_from_its_beginning(
    nats_server: NatsServer,
) -> None:
    naks = Naks()
    async with orders_captured(nats_server) as (client, capture):
        await naks.more(client, 3)
        await first_poll(capture)
        await request(client, f"STREAM.DELETE.{STREAM}")
        await capture.catch_up(time.monotonic() + 20)
        assert "10059" in capture.problem  # reported, not ignored
        await asyncio.sleep(1)  # servers before 2.14 cannot distinguish a shorter time
        await make_capture(client)
        await naks.more(client, 8)  # more than before: the sequences alone would not show it
        assert await first_poll(capture) == 8


async def test_it_needs_only_two_requests_to_one_stream() -> None:
    login = Login("restricted", "restricted")
    permissions = Permissions(
        publish_allow=(f"$JS.API.STREAM.INFO.{STREAM}", f"$JS.API.STREAM.MSG.GET.{STREAM}"),
        subscribe_allow=(f"{OWN_INBOX_PREFIX}.>",),
    )
    restricted = User(login.user, login.password, permissions=permissions)
    options = NatsOptions(accounts=(Account("APP", (User("app", "app"), restricted)),))
    naks = Naks()
    async with NatsServer(NEWEST, options) as server, connected(server) as client:
        await make_capture(client)
        await make_orders(client)
        async with capturing(server, login) as capture:
            await first_poll(capture)
            await naks.more(client, 4)
            assert await first_poll(capture) == 4
        assert "Violation" not in await server.log_text()
        async with capturing(server, login, stream="ORDERS") as denied:
            await denied.catch_up(time.monotonic() + 5)
            assert "permission" in denied.problem


async def test_requests_use_the_api_prefix_of_the_domain() -> None:
    naks = Naks()
    async with (
        NatsServer(NEWEST, default_options(domain="hub")) as server,
        orders_captured(server, domain="hub") as (client, capture),
    ):
        await first_poll(capture)
        await naks.more(client, 2)
        assert await first_poll(capture) == 2
