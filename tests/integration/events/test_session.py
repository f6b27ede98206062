"""A whole event session built from settings: connections, account names, counts of a poll."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client
from support.exporter.event_listeners import (
    access_to,
    request,
    request_with_retry,
    until_connected,
    until_received,
    worker_of,
)
from support.nats.jwt_accounts import JwtAccount, operator_lines
from support.nats.servers import (
    NEWEST,
    OLDEST,
    SYS,
    NatsCluster,
    NatsOptions,
    NatsServer,
    connected,
    default_options,
)
from support.waiting import until

from exporter.events.counts import EventCounts
from exporter.events.session import EventSession
from exporter.events.subscriptions import SourceInfo, make_event_session
from exporter.settings.events import EventSettings
from exporter.sources.transport.connection import NatsConnection
from exporter.sources.transport.credentials import NatsAccess
from streamgauge.serving.settings.loader import build

AS_APP = {"user": "app", "password": "app"}


@asynccontextmanager
async def event_session_of(
    settings: dict[str, Any], source_info: SourceInfo
) -> AsyncIterator[EventSession]:
    event_session = make_event_session(build(EventSettings, settings, "test"), source_info)
    assert event_session is not None
    task = asyncio.create_task(event_session.run())
    try:
        for listener in event_session.listeners:
            await until_connected(listener.connection)
        if event_session.tap:
            await until_connected(event_session.tap.connection)
        yield event_session
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await event_session.close()


async def make_orders(client: Client) -> None:
    await request(client, "STREAM.CREATE.ORDERS", {"name": "ORDERS", "subjects": ["orders.>"]})
    await request(client, "CONSUMER.DURABLE.CREATE.ORDERS.worker",
              {"stream_name": "ORDERS",
               "config": {"durable_name": "worker", "ack_policy": "explicit"}})  # fmt: skip


async def one_nak_and_one_duplicate(client: Client) -> None:
    for _ in range(2):
        await client.request("orders.new", b"x", headers={"Nats-Msg-Id": "a"}, timeout=20)
    orders = await client.jetstream().pull_subscribe_bind("worker", "ORDERS")
    (message,) = await orders.fetch(1, timeout=20)
    await message.nak()
    await client.flush()


async def received(event_session: EventSession, account: str = "APP") -> EventCounts:
    def enough(seen: EventCounts) -> bool:
        worker = seen.consumers.get((account, "ORDERS", "worker"))
        return worker is not None and worker.naks > 0

    await event_session.catch_up(time.monotonic() + 20)
    await until_received(event_session.state, enough)
    return await event_session.counts()


async def test_beside_the_account_source_the_same_user_listens(nats_server: NatsServer) -> None:
    access = access_to(nats_server)
    source_info = SourceInfo(
        "test", "account", access, NatsConnection(access, "source"), account="APP"
    )
    settings = {"publish_ack_tap": {"enabled": True}}
    async with (
        connected(nats_server) as client,
        event_session_of(settings, source_info) as event_session,
    ):
        await make_orders(client)
        await one_nak_and_one_duplicate(client)
        counts = await received(event_session)
        assert [listener.config.of_system_account for listener in event_session.listeners] == [
            False
        ]
        assert event_session.problems() == ()
    assert worker_of(counts).naks == 1
    assert counts.streams["APP", "ORDERS"].duplicates == 1
    assert counts.connected_since is not None
    assert counts.tap is not None
    assert counts.tap.active


async def test_beside_the_system_source_both_accounts_are_listened_to(
    nats_server: NatsServer,
) -> None:
    settings: dict[str, Any] = {"account": {**AS_APP, "name": "APP"}, "capture_stream": "KEPT"}
    source_info = SourceInfo("test", "system", access_to(nats_server, SYS))
    async with (
        connected(nats_server) as client,
        event_session_of(settings, source_info) as event_session,
    ):
        await request(client, "STREAM.CREATE.KEPT",
                  {"name": "KEPT", "subjects": ["$JS.EVENT.ADVISORY.CONSUMER.>"]})  # fmt: skip
        await event_session.catch_up(time.monotonic() + 20)
        await make_orders(client)
        await one_nak_and_one_duplicate(client)

        async def caught_up() -> None:
            while worker_of(await event_session.counts()).naks == 0:
                await event_session.catch_up(time.monotonic() + 20)

        await asyncio.wait_for(caught_up(), 30)
        counts = await event_session.counts()
        assert [listener.config.of_system_account for listener in event_session.listeners] == [
            True,
            False,
        ]
    assert worker_of(counts).naks == 1
    assert counts.advisories["APP", "consumer_msg_naked"] == 1
    assert counts.tap is None


async def test_with_the_monitor_source_the_server_reports_the_account_name() -> None:
    async with (
        NatsServer(NEWEST, default_options()) as server,
        connected(server) as client,
        event_session_of({"account": {**AS_APP, "urls": [server.url]}},
                   SourceInfo("test", "monitor")) as event_session,
    ):  # fmt: skip
        assert event_session.state.own_account == "account"
        await make_orders(client)
        await one_nak_and_one_duplicate(client)
        counts = await received(event_session)
    assert worker_of(counts).naks == 1


async def test_before_2_10_the_log_requests_a_missing_account_name(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with (
        NatsServer(OLDEST, default_options()) as server,
        event_session_of({"account": {**AS_APP, "urls": [server.url]}},
                   SourceInfo("test", "monitor")) as event_session,
    ):  # fmt: skip
        for _ in range(2):
            await event_session.catch_up(time.monotonic() + 20)
        assert (await event_session.counts()).consumers == {}
    logged = [
        each.getMessage() for each in caplog.records if "events.account.name" in each.getMessage()
    ]
    assert len(logged) == 1


@pytest.mark.parametrize("settings", [{"enabled": False}, {}])
def test_without_anything_to_listen_to_there_is_no_hearing(settings: dict[str, Any]) -> None:
    source_info = SourceInfo("test", "monitor")
    assert make_event_session(build(EventSettings, settings, "test"), source_info) is None


@pytest.mark.parametrize("app_is_received", [True, False])
async def test_in_operator_mode_copies_give_an_id_and_are_shown_by_the_accounts_name(
    tmp_path: Path, app_is_received: bool
) -> None:
    system, app = JwtAccount("SYS", jetstream=False), JwtAccount("APP")
    options = NatsOptions(extra=operator_lines(system, app))
    creds = {each.name: await asyncio.to_thread(each.write_creds, tmp_path / each.name)
             for each in (system, app)}  # fmt: skip
    async with NatsCluster(3, NEWEST, options) as cluster:
        access = NatsAccess(tuple(cluster.urls), creds_file=creds["SYS"])
        settings = {"account": {"creds_file": str(creds["APP"])}} if app_is_received else {}
        async with event_session_of(
            settings, SourceInfo("test", "system", access)
        ) as event_session:
            if not app_is_received:  # as the snapshots of a system source know it
                event_session.state.account_names = {app.key.public: "APP"}
            client = await nats.connect(cluster.urls, user_credentials=str(creds["APP"]))
            await request_with_retry(
                client, "STREAM.CREATE.ORDERS",
                {"name": "ORDERS", "subjects": ["orders.>"], "num_replicas": 3})  # fmt: skip
            await client.close()
            # Either copy may be the first; the name becomes known only after them.
            await until_received(
                event_session.state,
                lambda seen: "stream_leader_elected" in {kind for _, kind in seen.advisories},
            )
            await event_session.catch_up(time.monotonic() + 20)
            counts = await event_session.counts()
    assert {account for account, _ in counts.advisories} <= {"APP", ""}
    assert counts.advisories["APP", "stream_leader_elected"] == 1


async def test_one_listener_that_is_away_breaks_the_whole_hearing() -> None:
    async with (
        NatsServer(NEWEST, default_options()) as server,
        NatsServer(NEWEST, default_options()) as elsewhere,
    ):
        settings = {"account": {**AS_APP, "urls": [elsewhere.url], "name": "APP"}}
        source_info = SourceInfo("test", "system", access_to(server, SYS))
        async with event_session_of(settings, source_info) as event_session:
            assert event_session.connected_since is not None
            await elsewhere.stop()

            async def since() -> float | None:
                return event_session.connected_since

            await until(since, lambda seen: seen is None, "still unbroken")
            assert event_session.listeners[0].connected_since is not None
            (problem,) = event_session.problems()
            assert problem.startswith("streamgauge events (test): ")
