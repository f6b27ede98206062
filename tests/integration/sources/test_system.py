"""The system source with too many, too large, denied or unexpected responses."""

import secrets
from dataclasses import replace
from typing import Final

import pytest
from nats.aio.client import Client
from support.exporter.source_polls import (
    OPTIONS,
    create_consumer,
    create_stream,
    failures,
    nats_access,
    outcome,
    poll,
    streams,
    system_source,
)
from support.nats.servers import (
    APP,
    READER,
    SYS,
    Account,
    Login,
    NatsOptions,
    NatsServer,
    Permissions,
    User,
    connected,
    default_options,
    versions,
    with_reader,
)

from exporter.model import Skipped, Snapshot

ACCOUNTS: Final = ("A1", "A2", "A3", "A4", "A5")

each_version = pytest.mark.parametrize("version", versions())


def five_accounts(**changes: str) -> NatsOptions:
    system = Account("SYS", (User("sys", "sys"),), jetstream=False)
    accounts = [Account(name, (User(name, name),)) for name in ACCOUNTS]
    return NatsOptions(accounts=(*accounts, system), **changes)  # type: ignore[arg-type]


async def fill(client: Client, count: int, text_bytes: int) -> None:
    """Streams whose configuration does not compress; every version keeps a description."""
    for number in range(count):
        text = secrets.token_hex(text_bytes // 2)
        await create_stream(client, f"S{number}", description=text)


def seen(snapshot: Snapshot) -> list[tuple[str, str]]:
    return sorted((row.account, row.name) for row in snapshot.streams)


@each_version
async def test_more_accounts_than_fit_a_page_are_seen_once_each(version: str) -> None:
    async with NatsServer(version, five_accounts()) as server:
        for name in ACCOUNTS:
            async with connected(server, Login(name, name)) as client:
                await create_stream(client, "ORDERS")
                await create_consumer(client, "ORDERS", "bill")
        async with system_source(nats_access(server, SYS)) as source:
            source.accounts_per_page = 2
            first, second = await poll(source), await poll(source)
    for snapshot in (first, second):
        assert (failures(snapshot), snapshot.complete) == ({}, True)
        assert seen(snapshot) == [(name, "ORDERS") for name in ACCOUNTS]
        assert sorted(row.account for row in snapshot.consumers) == list(ACCOUNTS)
        assert sorted(account.name for account in snapshot.accounts) == list(ACCOUNTS)


@each_version
async def test_accounts_too_large_for_one_response_come_in_smaller_pages(version: str) -> None:
    # One account fits the server's buffer for a client, five do not.
    async with NatsServer(version, five_accounts(max_pending="32KB", max_payload="4KB")) as server:
        for name in ACCOUNTS:
            async with connected(server, Login(name, name)) as client:
                await fill(client, 10, 2000)
        async with system_source(nats_access(server, SYS)) as source:
            first, second = await poll(source), await poll(source)
        cuts = (await server.log_text()).count("Slow Consumer Detected")
    for snapshot in (first, second):
        assert (failures(snapshot), snapshot.skipped, snapshot.complete) == ({}, (), True)
        assert len(seen(snapshot)) == 10 * len(ACCOUNTS)
    # Cut at 1024 and at 32 accounts, then the size is known and kept.
    assert (cuts, source.accounts_per_page) == (2, 1)


@each_version
async def test_a_configuration_too_large_for_any_page_is_skipped_and_reported(version: str) -> None:
    options = default_options(max_pending="32KB", max_payload="4KB")
    async with NatsServer(version, options) as server:
        async with connected(server) as client:
            await fill(client, 40, 2000)
        async with system_source(nats_access(server, SYS)) as source:
            first, second = await poll(source), await poll(source)
        cuts = (await server.log_text()).count("Slow Consumer Detected")
    assert failures(first) == {"jsz_config": "size", "jsz_account": "size"}
    assert "closed the connection" in outcome(first, "jsz_config").detail
    assert not {"jsz_config", "jsz_account"} & {each.request for each in second.outcomes}
    for snapshot in (first, second):
        assert outcome(snapshot, "jsz").ok
        too_large = {Skipped("jsz_config", "size"), Skipped("jsz_account", "size")}
        assert too_large <= set(snapshot.skipped)
        assert {(row.up, row.config) for row in snapshot.streams} == {(True, None)}
        assert (len(snapshot.streams), snapshot.complete) == (40, False)
    assert cuts == 4  # no more after the first poll: both are skipped


@each_version
async def test_a_response_too_large_in_every_form_leaves_the_servers(version: str) -> None:
    async with NatsServer(version, default_options()) as server:
        async with connected(server) as client:
            await fill(client, 20, 200)
        bounded = replace(OPTIONS, max_response_bytes=2000)
        async with system_source(nats_access(server, SYS), bounded) as source:
            first, second = await poll(source), await poll(source)
    assert failures(first) == {"jsz_config": "size", "jsz": "size"}
    assert "more than 2000 bytes" in outcome(first, "jsz").detail
    assert [each.request for each in second.outcomes] == ["statsz"]
    for snapshot in (first, second):
        assert snapshot.skipped == (Skipped("jsz", "size"), Skipped("jsz_config", "size"))
        assert (snapshot.streams, snapshot.complete) == ((), False)
        assert [(row.name, row.up) for row in snapshot.servers] == [("n1", True)]


async def test_an_ordinary_user_gets_no_responders(nats_server: NatsServer) -> None:
    async with system_source(nats_access(nats_server, APP)) as source:
        snapshot = await poll(source)
    assert failures(snapshot) == {"statsz": "no_responders"}
    assert (snapshot.servers, snapshot.streams, snapshot.complete) == ((), (), False)


@each_version
async def test_a_denied_request_is_reported_as_permission_and_then_skipped(version: str) -> None:
    denied = Permissions(publish_deny=("$SYS.REQ.SERVER.PING.HEALTHZ",))
    async with NatsServer(version, with_reader("SYS", denied)) as server:
        async with connected(server) as client:
            await create_stream(client, "ORDERS")
        async with system_source(nats_access(server, READER)) as source:
            first, second = await poll(source), await poll(source)
    assert failures(first) == {"healthz": "permission"}
    assert failures(second) == {}
    for snapshot in (first, second):
        assert snapshot.skipped == (Skipped("healthz", "permission"),)
        assert list(streams(snapshot)) == ["ORDERS"]
        assert [server.healthy for server in snapshot.servers] == [None]


@each_version
async def test_a_server_without_jetstream_is_reported(version: str) -> None:
    system = Account("SYS", (User("sys", "sys"),), jetstream=False)
    async with (
        NatsServer(version, NatsOptions(jetstream=False, accounts=(system,))) as server,
        system_source(nats_access(server, SYS)) as source,
    ):
        snapshot = await poll(source)
    assert failures(snapshot) == {"jsz": "no_jetstream"}
    assert [(row.name, row.up, row.jetstream) for row in snapshot.servers] == [("n1", True, False)]
