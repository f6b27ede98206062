"""The bulk request for subscriptions: when it is skipped, and how owners are found."""

import asyncio
import logging
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from support.exporter.source_polls import api, create_stream, nats_access
from support.nats.jwt_accounts import JwtAccount, operator_lines
from support.nats.servers import (
    NEWEST,
    OLDEST,
    OTHER,
    Login,
    NatsOptions,
    NatsServer,
    connected,
    default_options,
)
from support.signals.publish_accounting import (
    ACCOUNT,
    RequestRecorder,
    accounting,
    accounting_as,
    flood,
    many_subscriptions,
    publish,
    trickle,
)
from support.waiting import until

from exporter.model import Skipped
from exporter.signals.publishes.engine import StreamPublishes
from exporter.sources.subsz.reader import CEILING, SubszReader
from exporter.sources.subsz.wire import SubszRequest
from exporter.sources.transport.connection import NatsConnection

MANY_CLIENTS = 200_000
NO_LOGIN = Login("", "")


@pytest.mark.parametrize("how", ["system", "monitor"])
async def test_only_an_account_above_the_ceiling_is_skipped(
    nats_server: NatsServer, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "exporter.sources.subsz.reader")
    async with connected(nats_server) as client, connected(nats_server, OTHER) as other:
        await create_stream(client, "ORDERS")
        await create_stream(other, "CALM")
        async with accounting(nats_server, how) as watched:
            watched.request = received = RequestRecorder(watched.request)
            async with many_subscriptions(nats_server, MANY_CLIENTS):
                await publish(client, "orders", 5)
                await publish(other, "calm", 5, ids=2)
                for _ in range(2):
                    signals = await watched.signals()
                assert watched.measurement is not None
                (over,) = watched.measurement.over_ceiling
                assert (over.server, over.account) == ("n1", ACCOUNT)
                assert over.subscriptions > MANY_CLIENTS
                assert watched.measurement.skipped == (Skipped("subsz", "ceiling"),)
                assert signals.streams["OTHER", "CALM"] == StreamPublishes(5, 3, 3, 0)
                # The walk through that account is what would hold its publishers up.
                assert SubszRequest("OTHER", rows=True) in received.lists
                assert not {ACCOUNT, ""} & {request.account for request in received.lists}
            # The server needs a while to forget them.
            await until(
                watched.poll,
                lambda seen: seen.streams[ACCOUNT, "ORDERS"].received == 5,
                "what happened meanwhile is not counted afterwards",
            )
    logged = [record.getMessage().partition(" system=")[0] for record in caplog.records]
    assert logged == ["too many subscriptions, publishes not counted", "publishes counted again"]


async def test_the_ceiling_counts_what_is_there_before_anything_is_read() -> None:
    async with NatsServer(options=default_options()) as server, connected(server) as client:
        await create_stream(client, "ORDERS")
        async with accounting(server, ceiling=0) as watched:
            watched.request = received = RequestRecorder(watched.request)
            signals = await watched.signals()
            assert signals.streams[ACCOUNT, "ORDERS"] == StreamPublishes()
            assert received.lists == []
            assert watched.measurement is not None
            assert [one.account for one in watched.measurement.over_ceiling] == [ACCOUNT]


async def test_clients_are_looked_up_once_and_only_when_ambiguous(
    nats_server: NatsServer,
) -> None:
    async with connected(nats_server) as client, AsyncExitStack() as many_clients:
        await create_stream(client, "ORDERS")
        async with accounting(nats_server) as watched:
            watched.request = received = RequestRecorder(watched.request)
            for _ in range(4):
                one = await many_clients.enter_async_context(connected(nats_server))
                await one.subscribe("orders")
                await one.flush()
            await publish(client, "orders", 3)
            assert (await watched.stream("ORDERS")).received == 3
            assert received.lookups == []  # the stream's own connection is known from before
        async with accounting(nats_server) as watched:
            watched.request = received = RequestRecorder(watched.request)
            watched.reader = SubszReader("test")
            await publish(client, "orders", 3)
            assert (await watched.stream("ORDERS")).received == 3
            assert len(received.lookups) == 5
            watched.reader._owners.clear()
            await publish(client, "orders", 3)
            assert (await watched.stream("ORDERS")).received == 6
            assert len(received.lookups) == 5


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
async def test_accounts_of_an_operator_are_shown_by_their_names(
    version: str, tmp_path: Path
) -> None:
    billing, system = JwtAccount("billing"), JwtAccount("system", jetstream=False)
    as_user = await asyncio.to_thread(billing.write_creds, tmp_path / "user.creds")
    as_system = await asyncio.to_thread(system.write_creds, tmp_path / "system.creds")
    async with NatsServer(version, NatsOptions(extra=operator_lines(system, billing))) as server:
        user = NatsConnection(nats_access(server, NO_LOGIN, creds_file=as_user), "test")
        config = b'{"name":"ORDERS","subjects":["orders"],"storage":"memory"}'
        await user.request("$JS.API.STREAM.CREATE.ORDERS", config, timeout=10)
        async with accounting_as(nats_access(server, NO_LOGIN, creds_file=as_system)) as watched:
            for number, ceiling in ((3, CEILING), (6, 20)):  # so low that each gets its own request
                watched.reader.ceiling = ceiling
                for _ in range(3):
                    await user.request("orders", b"x", timeout=10)
                signals = await watched.signals()
                assert signals.streams == {("billing", "ORDERS"): StreamPublishes(number, 0, 0, 0)}
        await user.close()


async def test_polls_during_a_flood_leave_exact_numbers(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, connected(nats_server) as other:
        await create_stream(client, "FLOOD", storage="file")
        async with accounting(nats_server) as watched:
            stop = asyncio.Event()
            flooding = asyncio.create_task(flood(client, "flood", stop, ids=5_000))
            logged = [(await watched.poll()).streams[ACCOUNT, "FLOOD"].unstored for _ in range(6)]
            stop.set()
            sent = await flooding

            async def last_seq() -> int:
                state = (await api(other, "STREAM.INFO.FLOOD"))["state"]
                return int(state["last_seq"])

            stored = min(sent, 5_000)
            await until(last_seq, lambda seen: seen == stored, "not all of them are stored")
            got = await watched.stream("FLOOD")
            assert got == StreamPublishes(sent, sent - stored, sent - stored, 0)
            assert max(number or 0 for number in logged) <= sent - stored


async def test_a_stream_that_is_never_idle_is_counted_too() -> None:
    async with NatsServer(options=default_options()) as server, connected(server) as client:
        await create_stream(client, "BUSY")
        async with accounting(server) as watched:
            stop = asyncio.Event()
            trickling = asyncio.create_task(trickle(client, "busy", stop))

            async def unstored() -> int:
                return (await watched.poll()).streams[ACCOUNT, "BUSY"].unstored or 0

            # Without any later poll: two equal polls are enough.
            during = await until(unstored, lambda seen: seen > 0, "nothing is ever counted")
            stop.set()
            twice = await trickling
            assert during <= twice
            assert await watched.stream("BUSY") == StreamPublishes(2 * twice, twice, twice, 0)
