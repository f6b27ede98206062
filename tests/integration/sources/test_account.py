"""The account source with denied, late, paged or missing responses."""

import asyncio
import os
import secrets
import signal
from typing import Final

import pytest
from support.exporter.source_polls import (
    account_source,
    api,
    consumers,
    create_consumer,
    create_stream,
    failures,
    nats_access,
    outcome,
    poll,
    streams,
)
from support.nats.servers import (
    APP,
    NOJS,
    OTHER,
    READER,
    Login,
    NatsOptions,
    NatsServer,
    Permissions,
    connected,
    default_options,
    versions,
    with_reader,
)
from support.waiting import until

from exporter.errors import RequestError
from exporter.model import Skipped
from exporter.sources.transport.connection import NatsConnection

NO_LOGIN: Final = Login("", "")
MORE_THAN_A_PAGE: Final = 300

each_version = pytest.mark.parametrize("version", versions())


def reload_permissions(server: NatsServer, permissions: Permissions | None) -> None:
    """Blocks, so it runs in a thread."""
    server.options = with_reader("APP", permissions)
    server._prepare()
    os.kill(server.pid, signal.SIGHUP)


async def test_a_strict_server_accepts_every_request(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client:
        await create_stream(client, "ORDERS")
        await create_consumer(client, "ORDERS", "bill")
        unknown_field = await api(client, "STREAM.LIST", {"offset": 0, "limit": 10})
    async with account_source(nats_access(nats_server)) as source:
        snapshot = await poll(source)
    # The trap is there: since 2.12 a server refuses what an older one passes over.
    strict = nats_server.version not in ("2.9.10", "2.10.26", "2.11.11")
    assert unknown_field.get("error", {}).get("err_code") == (10025 if strict else None)
    assert (failures(snapshot), snapshot.complete) == ({}, True)
    assert list(consumers(snapshot)) == [("ORDERS", "bill")]


async def test_more_than_one_page_of_streams_and_of_consumers_is_seen_once_each(
    nats_server: NatsServer,
) -> None:
    names = [f"S{number:03}" for number in range(MORE_THAN_A_PAGE)]
    async with connected(nats_server) as client:
        await asyncio.gather(*(create_stream(client, name) for name in names))
        await asyncio.gather(*(create_consumer(client, "S007", name) for name in names))
        first_page = await api(client, "STREAM.LIST")
    async with account_source(nats_access(nats_server)) as source:
        snapshot = await poll(source)
    assert len(first_page["streams"]) < MORE_THAN_A_PAGE
    assert sorted(row.name for row in snapshot.streams) == names
    assert sorted((row.stream, row.name) for row in snapshot.consumers) == [
        ("S007", name) for name in names
    ]


@each_version
async def test_a_denied_list_is_reported_as_permission_and_then_skipped(version: str) -> None:
    denied = Permissions(publish_deny=("$JS.API.STREAM.LIST",))
    async with (
        NatsServer(version, with_reader("APP", denied)) as server,
        account_source(nats_access(server, READER)) as source,
    ):
        first, second = await poll(source), await poll(source)
    assert failures(first) == {"stream_list": "permission"}
    assert outcome(first, "stream_list").detail == "publishing to $JS.API.STREAM.LIST is denied"
    assert "stream_list" not in {each.request for each in second.outcomes}
    for snapshot in (first, second):
        assert snapshot.skipped == (Skipped("stream_list", "permission"),)
        assert (snapshot.streams, snapshot.complete) == ((), False)


@each_version
async def test_without_leave_to_list_consumers_the_streams_are_still_there(version: str) -> None:
    denied = Permissions(publish_deny=("$JS.API.CONSUMER.LIST.>",))
    async with NatsServer(version, with_reader("APP", denied)) as server:
        async with connected(server) as client:
            await create_stream(client, "ORDERS")
            await create_consumer(client, "ORDERS", "bill")
        async with account_source(nats_access(server, READER)) as source:
            snapshot = await poll(source)
    assert failures(snapshot) == {"consumer_list": "permission"}
    assert (list(streams(snapshot)), snapshot.consumers) == (["ORDERS"], ())


async def test_without_permission_for_statz_servers_have_no_rows() -> None:
    denied = Permissions(publish_deny=("$SYS.REQ.ACCOUNT.PING.STATZ",))
    async with (
        NatsServer(options=with_reader("APP", denied)) as server,
        account_source(nats_access(server, READER)) as source,
    ):
        snapshot = await poll(source)
    assert failures(snapshot) == {"account_statz": "permission"}
    assert snapshot.servers == ()


@each_version
async def test_a_denied_inbox_fails_every_request_as_permission(version: str) -> None:
    denied = Permissions(subscribe_deny=("_INBOX.>",))
    async with (
        NatsServer(version, with_reader("APP", denied)) as server,
        account_source(nats_access(server, READER)) as source,
    ):
        snapshot = await poll(source)
    assert {each.reason for each in snapshot.outcomes} == {"permission"}
    assert outcome(snapshot, "stream_list").detail.startswith("subscribing to _inbox.")


async def test_an_inbox_that_is_allowed_later_works_without_a_restart() -> None:
    denied = Permissions(subscribe_deny=("_INBOX.>",))
    async with NatsServer(options=with_reader("APP", denied)) as server:
        connection = NatsConnection(nats_access(server, READER), "test")

        async def reason() -> str:
            try:
                await connection.request("$JS.API.STREAM.LIST", timeout=5)
            except RequestError as error:
                return error.reason
            return ""

        assert await reason() == "permission"
        await asyncio.to_thread(reload_permissions, server, None)
        await until(reason, lambda why: why == "", "the inbox stays denied")
        await connection.close()


@each_version
async def test_an_inbox_prefix_of_ones_own_is_used(version: str) -> None:
    only_own = Permissions(subscribe_allow=("_READER.>",))
    async with (
        NatsServer(version, with_reader("APP", only_own)) as server,
        account_source(nats_access(server, READER, inbox_prefix="_READER")) as source,
    ):
        snapshot = await poll(source)
    assert (failures(snapshot), snapshot.complete) == ({}, True)


@each_version
async def test_a_server_without_jetstream_has_no_responders(version: str) -> None:
    async with (
        NatsServer(version, NatsOptions(jetstream=False)) as server,
        account_source(nats_access(server, NO_LOGIN)) as source,
    ):
        snapshot = await poll(source)
    assert failures(snapshot) == {"account_info": "no_responders", "stream_list": "no_responders"}
    assert [(server.name, server.up, server.jetstream) for server in snapshot.servers] == [
        ("n1", True, False)
    ]


async def test_an_account_without_jetstream_is_reported(nats_server: NatsServer) -> None:
    async with account_source(nats_access(nats_server, NOJS)) as source:
        snapshot = await poll(source)
    assert failures(snapshot) == {"account_info": "no_jetstream", "stream_list": "no_jetstream"}
    assert "10039" in outcome(snapshot, "stream_list").detail


async def test_the_account_has_its_name_on_every_version(nats_server: NatsServer) -> None:
    async with connected(nats_server) as client:
        await create_stream(client, "ORDERS")
    async with account_source(nats_access(nats_server)) as source:
        snapshot = await poll(source)
    assert [account.name for account in snapshot.accounts] == ["APP"]
    assert [stream.account for stream in snapshot.streams] == ["APP"]


async def test_a_wrong_password_is_a_connection_failure_without_the_secret(
    nats_server: NatsServer,
) -> None:
    url = nats_server.url.replace("//", "//app:wrong-in-url@")
    in_address = nats_access(nats_server, NO_LOGIN, addresses=(url,))
    in_setting = nats_access(nats_server, Login("app", "wrong-in-setting"))
    for access in (in_address, in_setting):
        async with account_source(access) as source:
            snapshot = await poll(source)
        assert failures(snapshot) == {"stream_list": "connection"}
        detail = outcome(snapshot, "stream_list").detail
        assert nats_server.url in detail
        assert "authorization violation" in detail.lower()
        assert "wrong-in" not in detail


@each_version
async def test_a_list_that_the_server_cuts_off_leaves_the_source_alive(version: str) -> None:
    options = default_options(max_pending="8KB", max_payload="4KB")
    async with NatsServer(version, options) as server:
        async with connected(server) as client:
            for number in range(20):
                text = secrets.token_hex(1000)  # does not compress, and every version keeps it
                await create_stream(client, f"S{number}", description=text)
        async with account_source(nats_access(server)) as source:
            first, second = await poll(source), await poll(source)
    for snapshot in (first, second):
        assert failures(snapshot) == {"stream_list": "disconnected"}
        # After a reconnect, responses that are small enough arrive.
        assert outcome(snapshot, "account_info").ok


async def test_two_accounts_of_one_server_do_not_mix(nats_server: NatsServer) -> None:
    for login, name in ((APP, "FIRST"), (OTHER, "SECOND")):
        async with connected(nats_server, login) as client:
            await create_stream(client, name)
    seen = []
    for login in (APP, OTHER):
        async with account_source(nats_access(nats_server, login)) as source:
            snapshot = await poll(source)
        seen += [(row.account, row.name) for row in snapshot.streams]
    assert seen == [("APP", "FIRST"), ("OTHER", "SECOND")]
