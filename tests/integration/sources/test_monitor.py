"""The monitor source on difficult HTTP ports, and all three sources on one server side by side."""

import asyncio
import json
import time
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest
from aiohttp import web
from msgspec import structs
from nats.aio.client import Client
from support.exporter.source_polls import (
    OPTIONS,
    all_sources,
    api,
    consumers,
    create_consumer,
    create_stream,
    failures,
    http_access,
    monitor_source,
    outcome,
    poll,
    streams,
)
from support.nats.servers import (
    NEWEST,
    Account,
    Login,
    NatsOptions,
    NatsServer,
    User,
    connected,
    default_options,
    versions,
)
from support.waiting import until

from exporter.model import Skipped, Snapshot, Stream
from exporter.sources.monitor import HttpAccess
from exporter.sources.subsz.publish_counts import PublishOptions

ACCOUNTS: Final = ("A1", "A2", "A3", "A4", "A5")
SECOND: Final = 1_000_000_000

UNCOUNTED: Final = PublishOptions(enabled=False)
each_version = pytest.mark.parametrize("version", versions())


def five_accounts() -> NatsOptions:
    system = Account("SYS", (User("sys", "sys"),), jetstream=False)
    return NatsOptions(accounts=(*(Account(one, (User(one, one),)) for one in ACCOUNTS), system))


@pytest.mark.parametrize("at_once", [1, 2])
@each_version
async def test_more_accounts_than_fit_a_page_are_seen_once_each(version: str, at_once: int) -> None:
    async with NatsServer(version, five_accounts()) as server:
        for name in ACCOUNTS:
            async with connected(server, Login(name, name)) as client:
                await create_stream(client, "ORDERS")
                await create_consumer(client, "ORDERS", "bill")
        async with monitor_source(http_access(server)) as source:
            source.accounts_per_page = at_once
            first, second = await poll(source), await poll(source)
    for snapshot in (first, second):
        assert (failures(snapshot), snapshot.complete) == ({}, True)
        assert sorted((row.account, row.name) for row in snapshot.streams) == [
            (name, "ORDERS") for name in ACCOUNTS
        ]
        assert sorted(row.account for row in snapshot.consumers) == list(ACCOUNTS)
        assert sorted(account.name for account in snapshot.accounts) == list(ACCOUNTS)


@each_version
async def test_accounts_too_large_for_one_response_come_in_smaller_pages(version: str) -> None:
    async with NatsServer(version, five_accounts()) as server:
        for name in ACCOUNTS:
            async with connected(server, Login(name, name)) as client:
                for number in range(5):
                    await create_stream(client, f"S{number}", description="x" * 2000)
        # One account fits, five do not.
        bounded = replace(OPTIONS, max_response_bytes=40_000, publishes=UNCOUNTED)
        async with monitor_source(http_access(server), bounded) as source:
            snapshot = await poll(source)
    assert (failures(snapshot), snapshot.skipped, snapshot.complete) == ({}, (), True)
    assert (len(snapshot.streams), source.accounts_per_page) == (25, 1)


@each_version
async def test_a_response_too_large_in_every_form_leaves_the_servers(version: str) -> None:
    async with NatsServer(version, default_options()) as server:
        async with connected(server) as client:
            for number in range(20):
                await create_stream(client, f"S{number}")
        # Enough for the server's own figures, too little for its streams.
        bounded = replace(OPTIONS, max_response_bytes=6000, publishes=UNCOUNTED)
        async with monitor_source(http_access(server), bounded) as source:
            first, second = await poll(source), await poll(source)
    assert failures(first) == {"jsz_config": "size", "jsz": "size"}
    assert "more than 6000 bytes" in outcome(first, "jsz").detail
    assert [each.request for each in second.outcomes] == ["varz"]
    assert second.skipped == (Skipped("jsz", "size"), Skipped("jsz_config", "size"))
    assert (second.streams, second.complete) == ((), False)
    assert [(row.name, row.up) for row in second.servers] == [("n1", True)]


@each_version
async def test_a_server_without_jetstream_is_reported(version: str) -> None:
    async with (
        NatsServer(version, NatsOptions(jetstream=False)) as server,
        monitor_source(http_access(server)) as source,
    ):
        snapshot = await poll(source)
    assert failures(snapshot) == {"jsz": "no_jetstream"}
    assert [(row.name, row.up, row.jetstream) for row in snapshot.servers] == [("n1", True, False)]


async def test_one_server_behind_two_addresses_counts_once(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client:
        await create_stream(client, "ORDERS")
    twice = HttpAccess((nats_server.monitor_url, f"http://localhost:{nats_server.ports.monitor}"))
    async with monitor_source(twice) as source:
        snapshot = await poll(source)
    assert [row.name for row in snapshot.servers] == ["n1"]
    assert list(streams(snapshot)) == ["ORDERS"]
    assert (snapshot.servers_expected, snapshot.complete) == (1, True)


@asynccontextmanager
async def guarded(server: NatsServer, user: str, password: str) -> AsyncIterator[str]:
    """The address of a proxy for the monitoring port that requires a password; NATS has none."""
    wanted = "Basic " + b64encode(f"{user}:{password}".encode()).decode()

    async def pass_on(request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != wanted:
            return web.Response(status=401)
        url = f"{server.monitor_url}{request.path_qs}"
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            return web.Response(body=await response.read(), status=response.status)

    app = web.Application()
    app.router.add_get("/{path:.*}", pass_on)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def test_a_password_before_the_monitoring_port() -> None:
    async with (
        NatsServer(options=default_options()) as server,
        guarded(server, "eve", "s3cret") as url,
    ):
        with_user = url.replace("//", "//eve:s3cret@")
        wrong = url.replace("//", "//eve:wrong-one@")
        found = []
        for access in (HttpAccess((url,), "eve", "s3cret"), HttpAccess((with_user,))):
            async with monitor_source(access) as source:
                found.append(await poll(source))
        async with monitor_source(HttpAccess((wrong,))) as source:
            refused = await poll(source)
    assert [(failures(each), each.complete) for each in found] == [({}, True), ({}, True)]
    assert failures(refused) == {"varz": "permission"}
    assert outcome(refused, "varz").detail == f"{url}: varz: HTTP 401"


async def test_a_password_that_was_renewed_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "password"
    await asyncio.to_thread(file.write_text, "old\n")
    async with (
        NatsServer(options=default_options()) as server,
        guarded(server, "eve", "s3cret") as url,
        monitor_source(HttpAccess((url,), "eve", password_file=file)) as source,
    ):
        refused = await poll(source)
        await asyncio.to_thread(file.write_text, "s3cret\n")
        renewed = await poll(source)
    assert failures(refused) == {"varz": "permission"}
    assert (failures(renewed), renewed.complete) == ({}, True)


async def living_server(client: Client) -> None:
    """Streams and consumers in the middle of their work, with nothing about to move."""
    jetstream = client.jetstream()
    await create_stream(client, "ORDERS", storage="file", max_msgs=1000, max_age=3600 * SECOND)
    await create_stream(client, "EMPTY")
    await create_consumer(client, "ORDERS", "bill", max_deliver=5, ack_wait=1800 * SECOND)
    await create_consumer(client, "ORDERS", "ship", filter_subject="orders", ack_policy="all")
    await create_consumer(client, "ORDERS", "log", deliver_subject="logs", ack_policy="none")
    for _ in range(10):
        await jetstream.publish("orders", b"one order")
    await jetstream.delete_msg("ORDERS", 4)
    puller = await jetstream.pull_subscribe_bind("bill", "ORDERS")
    for message in (await puller.fetch(4, timeout=10))[:2]:
        await message.ack_sync()


def without_the_servers_limit(row: Stream, limit: int | None) -> Stream:
    """The row as an ordinary user gets it: only JSZ reports the server's default limit."""
    assert row.config is not None
    assert row.config.max_consumers == limit
    return structs.replace(row, config=structs.replace(row.config, max_consumers=None))


async def test_one_server_is_the_same_through_all_three_sources(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, all_sources(nats_server) as sources:
        await living_server(client)
        seen: dict[str, Snapshot] = {name: await poll(one) for name, one in sources.items()}
    account = seen.pop("account")
    bill = consumers(account)["ORDERS", "bill"]
    # Not an empty comparison: this is what was done above.
    assert (bill.delivered_stream_seq, bill.ack_floor_stream_seq, bill.num_ack_pending) == (5, 2, 2)
    assert (streams(account)["ORDERS"].messages, streams(account)["ORDERS"].deleted) == (9, 1)
    # Since 2.15 a server limits the consumers of a stream that has no limit of its own.
    servers_limit = 1000 if nats_server.version == NEWEST else None
    for snapshot in seen.values():
        rows = streams(snapshot).items()
        found = {name: without_the_servers_limit(row, servers_limit) for name, row in rows}
        assert found == streams(account)
        assert consumers(snapshot) == consumers(account)


async def flow_controlled(client: Client) -> None:
    """Since 2.14 a stream may be sourced through a durable consumer, which is listed like any."""
    await create_consumer(
        client, "ORDERS", "feed", ack_policy="flow_control", deliver_subject="feed",
        flow_control=True, idle_heartbeat=SECOND, max_ack_pending=100,
    )  # fmt: skip
    through = {"name": "ORDERS", "consumer": {"name": "feed", "deliver_subject": "feed"}}
    await create_stream(client, "FED", subjects=[], sources=[through])


async def test_consumers_of_the_server_itself_are_not_shown(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client, all_sources(nats_server) as sources:
        await create_stream(client, "ORDERS")
        await create_consumer(client, "ORDERS", "bill")
        await create_stream(client, "COPY", subjects=[], mirror={"name": "ORDERS"})
        await create_stream(client, "SUM", subjects=[], sources=[{"name": "ORDERS"}])
        if nats_server.version == NEWEST:
            await flow_controlled(client)
        await client.jetstream().publish("orders", b"1")

        async def copied() -> list[int]:
            names = ("COPY", "SUM")
            infos = [await api(client, f"STREAM.INFO.{name}") for name in names]
            return [info["state"]["messages"] for info in infos]

        await until(copied, lambda found: found == [1, 1], "mirror and source do not follow")
        listed: Any = await api(client, "CONSUMER.LIST.ORDERS")
        seen = {name: await poll(source) for name, source in sources.items()}
    internal = {each["name"] for each in listed["consumers"]} - {"bill"}
    assert internal == ({"feed"} if nats_server.version == NEWEST else set()), json.dumps(listed)
    for name, snapshot in seen.items():
        assert list(consumers(snapshot)) == [("ORDERS", "bill")], name
        upstream = {row.name: [each.name for each in row.origins] for row in snapshot.streams}
        assert (upstream["COPY"], upstream["SUM"]) == (["ORDERS"], ["ORDERS"])


@pytest.mark.long
@pytest.mark.parametrize("older", ["2.11.11", "2.12.8"])
async def test_a_stream_that_needs_a_newer_server_is_offline_and_not_empty(older: str) -> None:
    server = NatsServer(NEWEST, default_options())
    try:
        await server.start()
        async with connected(server) as client:
            for name, config in (("PLAIN", {}), ("BATCHED", {"allow_batched": True})):
                await create_stream(client, name, storage="file", **config)
                await client.jetstream().publish(name.lower(), b"1")
        await server.stop()
        server._wanted_version = older
        await server.start()
        async with connected(server) as client, all_sources(server) as sources:
            listed = await api(client, "STREAM.LIST")
            seen = {name: await poll(source) for name, source in sources.items()}
            again = {name: await poll(source) for name, source in sources.items()}
    finally:
        await server.close()
    assert (listed["missing"], list(listed["offline"])) == (["BATCHED"], ["BATCHED"])
    for name, snapshot in (*seen.items(), *again.items()):
        rows = streams(snapshot)
        found = {key: (row.up, row.reason, row.messages) for key, row in rows.items()}
        assert found == {"PLAIN": (True, "", 1), "BATCHED": (False, "offline", 0)}, name


async def test_configuration_that_never_comes_leaves_time_for_the_state(
    nats_server: NatsServer,
) -> None:
    async with connected(nats_server) as client:
        await client.jetstream(timeout=20).add_stream(name="ORDERS", subjects=["orders.>"])
    async with (
        without_configuration(nats_server.monitor_url) as url,
        monitor_source(HttpAccess((url,))) as source,
    ):
        seen = await source.poll(time.monotonic() + 3.0)
        again = await source.poll(time.monotonic() + 3.0)
    outcomes = {outcome.request: (outcome.ok, outcome.reason) for outcome in seen.outcomes}
    assert outcomes["jsz_config"] == (False, "timeout")
    assert outcomes["jsz"] == (True, "")
    assert [row.name for row in seen.streams] == ["ORDERS"]
    # It is paused for an interval: the next poll does not wait for it.
    assert "jsz_config" not in {outcome.request for outcome in again.outcomes}
    assert [row.name for row in again.streams] == ["ORDERS"]


@asynccontextmanager
async def without_configuration(monitor_url: str) -> AsyncIterator[str]:
    """The monitoring port, but requests for configuration get no response."""
    end = asyncio.Event()
    async with aiohttp.ClientSession(monitor_url) as session:

        async def response(request: web.Request) -> web.Response:
            if request.query.get("config"):
                await end.wait()
            async with session.get(request.rel_url) as response:
                body = await response.read()
                return web.Response(body=body, status=response.status)

        app = web.Application()
        app.router.add_get("/{path:.*}", response)
        runner = web.AppRunner(app)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            end.set()
            await runner.cleanup()
