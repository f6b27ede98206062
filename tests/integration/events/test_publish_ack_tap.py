"""The publish-ack tap against a known truth: duplicates, rejections by code, and when it gives up."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import nats
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from support.exporter.event_listeners import (
    access_to,
    new_state,
    request,
    request_with_retry,
    running,
    stream_of,
    until_connected,
)
from support.nats.servers import (
    APP,
    NEWEST,
    OLDEST,
    OTHER,
    Account,
    Login,
    NatsCluster,
    NatsOptions,
    NatsServer,
    Permissions,
    User,
    connected,
    default_options,
)
from support.waiting import until

from exporter.events.ack_tap import AckTap, TapLimits
from exporter.events.counts import StreamCounts, TapState
from exporter.settings.events import OWN_INBOX_PREFIX
from exporter.sources.transport.connection import NatsConnection

WRONG_LAST, WRONG_ID, WRONG_STREAM, TOO_LARGE = 10071, 10070, 10060, 10054
STORE_FAILED, SEALED, NO_ROLLUP = 10077, 10109, 10111


@asynccontextmanager
async def tapping(server: NatsServer | NatsCluster, **how: Any) -> AsyncIterator[AckTap]:
    access = access_to(server, how.pop("login", APP))
    tap = AckTap(access, new_state(), "test", **how)
    async with running(tap):
        yield tap


async def make_streams(client: Client, replicas: int = 1) -> None:
    for name, more in {
        "ORDERS": {"max_msg_size": 1000},
        "FULL": {"max_msgs": 1, "discard": "new"},
        "SEALED": {},
    }.items():
        config = {"name": name, "subjects": [f"{name.lower()}.>"], "num_replicas": replicas}
        await request_with_retry(client, f"STREAM.CREATE.{name}", config | more)
    await request_with_retry(client, "STREAM.UPDATE.SEALED",
              {"name": "SEALED", "subjects": ["sealed.>"], "sealed": True,
               "num_replicas": replicas})  # fmt: skip


async def publish(client: Client, subject: str, data: bytes = b"x", **headers: str) -> None:
    """Acknowledged, with or without an error."""
    named = {f"Nats-{name.replace('_', '-')}": value for name, value in headers.items()}
    await client.request(subject, data, headers=named or None, timeout=20)


async def until_counted(tap: AckTap, **wanted: StreamCounts) -> None:
    """Exactly these counts: the tap receives an ack after the publisher did, if at all."""
    keys = {("APP", name): counts for name, counts in wanted.items()}

    async def logged() -> dict[tuple[str, str], StreamCounts]:
        return dict(tap.state.counts().streams)

    await until(logged, lambda seen: seen == keys, f"not {keys}")


async def test_duplicates_and_rejections_are_counted_exactly(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, tapping(nats_server) as tap:
        await make_streams(client)
        for number in range(100):
            await publish(client, "orders.new", Msg_Id=f"id{number % 40}")
        for _ in range(3):
            await publish(client, "orders.new", Expected_Last_Sequence="7777")
        await publish(client, "orders.new", Expected_Last_Subject_Sequence="7777")
        for _ in range(2):
            await publish(client, "orders.new", Expected_Last_Msg_Id="nobody")
        await publish(client, "orders.new", Expected_Stream="OTHER")
        await publish(client, "orders.new", b"x" * 2000)
        await publish(client, "orders.new", Rollup="all")
        for _ in range(5):
            await publish(client, "full.new")
        await publish(client, "sealed.new")
        await until_counted(
            tap,
            ORDERS=StreamCounts(
                duplicates=60,
                rejections=((TOO_LARGE, 1), (WRONG_STREAM, 1), (WRONG_ID, 2), (WRONG_LAST, 4),
                            (NO_ROLLUP, 1)),
            ),
            FULL=StreamCounts(rejections=((STORE_FAILED, 4),)),
            SEALED=StreamCounts(rejections=((SEALED, 1),)),
        )  # fmt: skip
        assert tap.tap_state() == TapState("APP", active=True)


async def test_replies_that_only_resemble_acks_are_ignored(nats_server: NatsServer) -> None:
    """Messages on their way to consumers, direct gets and other people's services."""
    duplicate = b'{"stream":"ORDERS","seq":1,"duplicate": true}'
    async with connected(nats_server) as client, tapping(nats_server) as tap:
        await request(client, "STREAM.CREATE.ORDERS",
                  {"name": "ORDERS", "subjects": ["orders.>"], "allow_direct": True})  # fmt: skip
        await publish(client, "orders.new", duplicate)
        jetstream = client.jetstream()
        orders = await jetstream.pull_subscribe("orders.>", "worker")
        await (await orders.fetch(1))[0].ack()
        pushed = await jetstream.subscribe("orders.>", ordered_consumer=True)
        assert (await pushed.next_msg(10)).data == duplicate
        direct = await client.request("$JS.API.DIRECT.GET.ORDERS", b'{"seq":1}', timeout=10)
        assert direct.data == duplicate
        await request(client, "STREAM.MSG.GET.ORDERS", {"seq": 1})
        await reply_to_each_other(client, b'{"error":{"code":400,"message":"bad"}}')
        await publish(client, "orders.new", Msg_Id="a")
        await publish(client, "orders.new", Msg_Id="a")
        await until_counted(tap, ORDERS=StreamCounts(duplicates=1))


async def reply_to_each_other(client: Client, response: bytes) -> None:
    async def reply(message: Msg) -> None:
        await message.respond(response)

    await client.subscribe("service", cb=reply)
    assert (await client.request("service", b"", timeout=10)).data == response


async def test_an_atomic_batch_with_a_duplicate_is_a_duplicate() -> None:
    async with (
        NatsServer(NEWEST, default_options()) as server,
        connected(server) as client,
        tapping(server) as tap,
    ):
        await request(client, "STREAM.CREATE.ORDERS",
                  {"name": "ORDERS", "subjects": ["orders.>"], "allow_atomic": True})  # fmt: skip
        await publish(client, "orders.new", Msg_Id="a")
        await publish(client, "orders.new", Batch_Id="b", Batch_Sequence="1", Msg_Id="a")
        await publish(client, "orders.new", Batch_Id="b", Batch_Sequence="2", Batch_Commit="1")
        await publish(client, "orders.new", Batch_Id="c", Batch_Sequence="7", Batch_Commit="1")
        await until_counted(tap, ORDERS=StreamCounts(duplicates=1, rejections=((10176, 1),)))


async def test_the_error_of_a_fast_batch_names_no_stream() -> None:
    async with (
        NatsServer(NEWEST, default_options()) as server,
        connected(server) as client,
        tapping(server) as tap,
    ):
        await request(client, "STREAM.CREATE.ORDERS",
                  {"name": "ORDERS", "subjects": ["orders.>"], "allow_batched": True,
                   "storage": "memory"})  # fmt: skip
        inbox, responses = client.new_inbox(), asyncio.Queue[bytes]()

        async def take(message: Msg) -> None:
            await responses.put(message.data)

        await client.subscribe(f"{inbox}.>", cb=take)
        start, append, commit = 0, 1, 2
        for seq, step in ((1, start), (2, append), (3, append), (4, commit)):
            headers = {"Nats-Expected-Last-Sequence": "7777"} if seq == 3 else None
            await client.publish(
                "orders.new", b"x", f"{inbox}.batch.10.ok.{seq}.{step}.$FI", headers
            )
        while b'"batch"' not in await responses.get():  # the last word on the whole batch
            pass
        await until_counted(tap, **{"": StreamCounts(rejections=((WRONG_LAST, 1),))})


@pytest.mark.parametrize("version", [OLDEST, "2.10.26", NEWEST])
async def test_a_duplicate_of_what_is_still_under_way_is_a_duplicate(version: str) -> None:
    """With three replicas; servers report it in three ways."""
    ids, copies = 20, 3
    async with (
        NatsCluster(3, version, default_options()) as cluster,
        connected(cluster) as client,
        tapping(cluster) as tap,
    ):
        await make_streams(client, replicas=3)
        inbox, acks = client.new_inbox(), Counter[str]()
        all_here = asyncio.Event()

        async def take(message: Msg) -> None:
            acks["duplicate" if b'"duplicate"' in message.data else
                 "error" if b'"error"' in message.data else "stored"] += 1  # fmt: skip
            if acks.total() == ids * copies:
                all_here.set()

        await client.subscribe(inbox, cb=take)
        for number in range(ids):
            for _ in range(copies):
                headers = {"Nats-Msg-Id": f"id{number}"}
                await client.publish("orders.new", b"x", reply=inbox, headers=headers)
        await asyncio.wait_for(all_here.wait(), 30)
        assert acks["stored"] == ids
        await until_counted(tap, ORDERS=StreamCounts(duplicates=ids * (copies - 1)))


async def test_acks_of_other_accounts_and_other_inboxes_are_not_received(
    nats_server: NatsServer,
) -> None:
    async with (
        connected(nats_server) as client,
        connected(nats_server, OTHER) as stranger,
        tapping(nats_server) as usual,
        tapping(nats_server, inbox_prefixes=("_INBOX_orders",)) as special,
    ):
        mine = await nats.connect(nats_server.url, user="app", password="app",
                                  inbox_prefix="_INBOX_orders")  # fmt: skip
        for owner in (client, stranger):
            await make_streams(owner)
        for _ in range(2):
            await publish(stranger, "orders.new", Msg_Id="a")
            await publish(client, "orders.new", Msg_Id="b")
        for _ in range(4):
            await publish(mine, "orders.new", Msg_Id="c")
        await mine.close()
        await until_counted(special, ORDERS=StreamCounts(duplicates=3))
        await until_counted(usual, ORDERS=StreamCounts(duplicates=1))


async def test_our_own_requests_do_not_reach_the_tap(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, tapping(nats_server) as tap:
        await make_streams(client)
        sizes = tap.rate_limit
        await publish(client, "full.new")
        await publish(client, "full.new")
        await until_counted(tap, FULL=StreamCounts(rejections=((STORE_FAILED, 1),)))
        before = (sizes._messages, sizes._bytes)
        connection = NatsConnection(access_to(nats_server, inbox_prefix=OWN_INBOX_PREFIX), "own")
        for _ in range(5):
            await connection.request("$JS.API.STREAM.LIST", b"{}", timeout=10)
        await connection.close()
        await publish(client, "full.new")
        await until_counted(tap, FULL=StreamCounts(rejections=((STORE_FAILED, 2),)))
        grown = sizes._messages - before[0]
    assert grown == 1


async def test_above_the_rate_it_switches_itself_off_for_good(
    nats_server: NatsServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    limits = TapLimits(max_rate=10)
    async with connected(nats_server) as client, tapping(nats_server, limits=limits) as tap:
        await make_streams(client)
        await publish(client, "orders.new", Msg_Id="a")
        for _ in range(60):
            await publish(client, "orders.new", Msg_Id="a")

        async def active() -> bool:
            return tap.tap_state().active or bool(tap.connection.server_info)

        await until(active, lambda seen: not seen, "still on")
        counted = stream_of(tap.state.counts()).duplicates
        for _ in range(5):
            await publish(client, "orders.new", Msg_Id="a")
        assert tap.off == "more than 10 messages per second"
        assert 0 < counted <= 50
        assert stream_of(tap.state.counts()).duplicates == counted
        assert tap.connection.connected_since is None
    switched = [
        each for each in caplog.records if "publish-ack tap turned off" in each.getMessage()
    ]
    assert len(switched) == 1


async def test_what_the_queue_cannot_hold_is_dropped_and_counted() -> None:
    limits = TapLimits(queue=10)
    async with (
        NatsServer(NEWEST, default_options()) as server,
        connected(server) as client,
        tapping(server, limits=limits) as tap,
    ):
        await make_streams(client)
        await publish(client, "full.new")
        inbox, total = client.new_inbox(), 2000
        for _ in range(total):  # all at once: their replies arrive together
            await client.publish("full.new", b"x", reply=inbox)
        await client.flush()

        async def seen() -> tuple[int, int]:
            rejected = dict(stream_of(tap.state.counts(), "FULL").rejections)
            return rejected.get(STORE_FAILED, 0), tap.tap_state().dropped

        counted, dropped = await until(
            seen, lambda both: sum(both) >= total, "some are neither counted nor dropped"
        )
        assert counted + dropped == total
        assert dropped > 0
        assert tap.tap_state().active


async def test_after_a_restart_of_the_server_it_listens_again(nats_server: NatsServer) -> None:
    async with tapping(nats_server) as tap:
        before = tap.connection.connected_since
        async with connected(nats_server) as client:
            await make_streams(client)
            await publish(client, "full.new")
            await publish(client, "full.new")
        await until_counted(tap, FULL=StreamCounts(rejections=((STORE_FAILED, 1),)))
        await nats_server.restart()
        await until_connected(tap.connection, not_since=before)
        assert tap.tap_state() == TapState("APP", active=True, breaks=1)
        async with connected(nats_server) as client:
            await publish(client, "full.new")
        await until_counted(tap, FULL=StreamCounts(rejections=((STORE_FAILED, 2),)))


async def test_a_tap_that_may_not_listen_is_not_active() -> None:
    login = Login("restricted", "restricted")
    permissions = Permissions(subscribe_deny=("_INBOX.>",))
    options = NatsOptions(accounts=(
        Account("APP", (User("app", "app"),
                        User(login.user, login.password, permissions=permissions))),
    ))  # fmt: skip
    async with NatsServer(NEWEST, options) as server, tapping(server, login=login) as tap:
        assert tap.connection.denied == {"_INBOX.>"}
        assert not tap.tap_state().active


async def test_nothing_of_a_payload_is_logged(
    nats_server: NatsServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    limits = TapLimits(max_rate=1, queue=1)
    async with connected(nats_server) as client, tapping(nats_server, limits=limits) as tap:
        await make_streams(client)
        for number in range(10):
            await reply_to_each_other_once(client, f"secret-{number}".encode())

        async def off() -> str:
            return tap.off

        await until(off, lambda why: bool(why), "still on")
    assert "secret" not in caplog.text


async def reply_to_each_other_once(client: Client, response: bytes) -> None:
    await client.publish(client.new_inbox(), response)
    await client.flush()
