"""Connections that stall, drip, repeat, misdirect or overwhelm: what a poll makes of them."""

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from support.exporter.source_polls import (
    account_source,
    create_consumer,
    create_stream,
    failures,
    nats_access,
    outcome,
    poll,
)
from support.nats.servers import (
    APP,
    SYS,
    Login,
    NatsServer,
    connected,
    default_options,
    versions,
)

from exporter.model import Snapshot
from exporter.sources.account import AccountSource
from exporter.sources.servers.snapshot import SourceOptions
from exporter.sources.source import Source
from exporter.sources.system import SystemSource
from exporter.sources.transport.connection import NatsConnection
from exporter.sources.transport.credentials import NatsAccess
from streamgauge.demo.nats_server.message_proxy import HOST, ServerMessage, changed_messages

MEGABYTE: Final = 1024**2
NESTED: Final = b'{"x":' * 100_000
NO_LOGIN: Final = Login("", "")
WHOLE_POLL: Final = 5.0  # seconds

each_version = pytest.mark.parametrize("version", versions())
over_nats = pytest.mark.parametrize(("kind", "login"), [("account", APP), ("system", SYS)])


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@asynccontextmanager
async def orders(version: str | None = None) -> AsyncIterator[NatsServer]:
    options = default_options()
    async with NatsServer(version, options) if version else NatsServer(options=options) as server:
        async with connected(server) as client:
            await create_stream(client, "ORDERS")
            await create_consumer(client, "ORDERS", "worker")
            for _ in range(3):
                await client.jetstream().publish("orders", b"x")
        yield server


@asynccontextmanager
async def source_of(
    kind: str, access: NatsAccess, *, max_response_bytes: int = 64 * MEGABYTE
) -> AsyncIterator[Source]:
    options = SourceOptions(system="test", max_response_bytes=max_response_bytes)
    connection = NatsConnection(access, "test", max_response_bytes=max_response_bytes)
    make = AccountSource if kind == "account" else SystemSource
    source = make(options, connection)
    try:
        yield source
    finally:
        await source.close()


def counts(snapshot: Snapshot) -> list[tuple[str, str, int | None]]:
    assert (failures(snapshot), snapshot.complete) == ({}, True)
    assert [row.name for row in snapshot.streams] == ["ORDERS"]
    return [(row.stream, row.name, row.num_pending) for row in snapshot.consumers]


@each_version
@over_nats
async def test_replies_that_come_twice_count_once(version: str, kind: str, login: Login) -> None:
    async def twice(message: ServerMessage) -> AsyncIterator[bytes]:
        yield message.encoded() * 2

    async with (
        orders(version) as server,
        changed_messages(server.ports.client, twice) as url,
        source_of(kind, nats_access(server, login, addresses=(url,))) as source,
    ):
        for _ in range(2):
            snapshot = await poll(source)
            assert counts(snapshot) == [("ORDERS", "worker", 3)]
            assert len(snapshot.servers) == 1


@over_nats
async def test_replies_to_another_inbox_are_ignored(kind: str, login: Login) -> None:
    """A forged reply precedes each real one: under an unknown token, and without any request."""

    async def misdirected(message: ServerMessage) -> AsyncIterator[bytes]:
        _, subject, sid, *_ = message.words
        inbox = subject.rpartition(b".")[0]
        forged = b'{"error":{"code":500,"description":"forged"}}'
        for other in (inbox + b".999999", inbox + b".", b"_INBOX.other.0"):
            yield replace(message, words=(b"MSG", other, sid), headers=b"", body=forged).encoded()
        yield message.encoded()

    async with (
        orders() as server,
        changed_messages(server.ports.client, misdirected) as url,
        source_of(kind, nats_access(server, login, addresses=(url,))) as source,
    ):
        assert counts(await poll(source)) == [("ORDERS", "worker", 3)]


class Stall:
    """Forwards until told to stop; then the connection stays open and silent."""

    def __init__(self) -> None:
        self.stalled = asyncio.Event()
        self.never = asyncio.Event()

    async def change(self, message: ServerMessage) -> AsyncIterator[bytes]:
        text = message.encoded()
        if self.stalled.is_set():
            yield text[: len(text) // 2]
            await self.never.wait()
        yield text


@over_nats
async def test_a_connection_that_stalls_is_replaced_at_the_next_poll(
    kind: str, login: Login, caplog: pytest.LogCaptureFixture
) -> None:
    stall = Stall()
    async with (
        orders() as server,
        changed_messages(server.ports.client, stall.change) as stalling,
        source_of(kind, nats_access(server, login, addresses=(stalling, server.url))) as source,
    ):
        assert counts(await poll(source)) == [("ORDERS", "worker", 3)]
        stall.stalled.set()
        lost = await poll(source, 1.0)
        with caplog.at_level(logging.WARNING):
            found = await poll(source, WHOLE_POLL)
    assert "timeout" in failures(lost).values()
    assert not lost.complete
    assert counts(found) == [("ORDERS", "worker", 3)]
    assert "connection stalled, connecting again" in caplog.text


@over_nats
async def test_a_slow_request_does_not_cost_a_live_connection(kind: str, login: Login) -> None:
    """The response is lost, but the server responds to a ping."""
    lose = asyncio.Event()

    async def lost(message: ServerMessage) -> AsyncIterator[bytes]:
        if not lose.is_set():
            yield message.encoded()

    async with (
        orders() as server,
        changed_messages(server.ports.client, lost) as url,
        source_of(kind, nats_access(server, login, addresses=(url,))) as source,
    ):
        await poll(source)
        connection = source.connection  # type: ignore[attr-defined]
        lose.set()
        assert "timeout" in failures(await poll(source, 1.0)).values()
        lose.clear()
        assert counts(await poll(source)) == [("ORDERS", "worker", 3)]
        assert connection.reconnects == 0


@over_nats
async def test_responses_that_drip_end_at_the_deadline(kind: str, login: Login) -> None:
    async def dripping(message: ServerMessage) -> AsyncIterator[bytes]:
        for byte in message.encoded():
            yield bytes((byte,))
            await asyncio.sleep(0.05)  # the fault itself

    async with (
        orders() as server,
        changed_messages(server.ports.client, dripping) as url,
        source_of(kind, nats_access(server, login, addresses=(url,))) as source,
    ):
        snapshot = await poll(source, 1.0)
    assert "timeout" in failures(snapshot).values()
    assert not snapshot.complete


@over_nats
@pytest.mark.parametrize("body", [NESTED, b"[" * 200_000], ids=["objects", "arrays"])
async def test_deeply_nested_responses_are_malformed(kind: str, login: Login, body: bytes) -> None:
    async def nested(message: ServerMessage) -> AsyncIterator[bytes]:
        yield replace(message, words=(b"MSG", *message.words[1:]), headers=b"", body=body).encoded()

    async with (
        orders() as server,
        changed_messages(server.ports.client, nested) as url,
        source_of(kind, nats_access(server, login, addresses=(url,))) as source,
    ):
        snapshot = await poll(source, WHOLE_POLL)
    assert not snapshot.complete
    assert set(failures(snapshot).values()) <= {"malformed", "timeout"}
    assert "malformed" in failures(snapshot).values()


@over_nats
async def test_a_response_larger_than_the_limit_is_refused_when_it_is_announced(
    kind: str, login: Login
) -> None:
    """The server announces 200 MB; the client ends the connection after the first bytes of it."""
    sent = 0
    large = True

    async def huge(message: ServerMessage) -> AsyncIterator[bytes]:
        nonlocal sent
        if not large:
            yield message.encoded()
            return
        yield b" ".join((b"MSG", *message.words[1:3], b"%d" % (200 * MEGABYTE))) + b"\r\n"
        for _ in range(200):
            sent += MEGABYTE
            yield b" " * MEGABYTE

    async with (
        orders() as server,
        changed_messages(server.ports.client, huge) as url,
        source_of(
            kind, nats_access(server, login, addresses=(url,)), max_response_bytes=8 * MEGABYTE
        ) as source,
    ):
        refused = await poll(source, WHOLE_POLL)
        received, large = sent, False
        source.skipped_requests.clear()  # type: ignore[attr-defined]
        accepted = await poll(source)
    assert "size" in failures(refused).values()
    details = [each.detail for each in refused.outcomes if each.reason == "size"]
    assert f"{200 * MEGABYTE} bytes" in details[0]
    assert 0 < received < 50 * MEGABYTE
    assert counts(accepted) == [("ORDERS", "worker", 3)]


async def test_a_line_without_an_end_is_not_collected_for_ever() -> None:
    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                writer.write(b"x" * MEGABYTE)
                await writer.drain()
        except ConnectionError:
            writer.close()

    async with await asyncio.start_server(endless, HOST, 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with account_source(NatsAccess((f"nats://{HOST}:{port}",))) as source:
            snapshot = await poll(source, WHOLE_POLL)
    assert failures(snapshot) == {"stream_list": "connection"}


async def test_a_name_that_does_not_resolve_is_named_and_the_next_address_is_used() -> None:
    nowhere = "nats://nats.invalid:4222"
    async with orders() as server:
        access = nats_access(server, addresses=(nowhere, server.url))
        async with account_source(access) as source:
            assert counts(await poll(source)) == [("ORDERS", "worker", 3)]
        async with account_source(replace(access, addresses=(nowhere,))) as source:
            failed = await poll(source, WHOLE_POLL)
    assert failures(failed) == {"stream_list": "connection"}
    assert outcome(failed, "stream_list").detail.startswith(f"{nowhere}: ")


STREAMS: Final = 50_000
PAGE: Final = 256


class SlowPages:
    """Turns the list of streams into one of 50,000, and sends its pages slowly."""

    def __init__(self) -> None:
        self.sent = 0

    async def change(self, message: ServerMessage) -> AsyncIterator[bytes]:
        if b"stream_list_response" not in message.body:
            yield message.encoded()
            return
        await asyncio.sleep(0.05)  # the fault itself
        page = json.loads(message.body)
        (stream,) = page["streams"] or [self.stream]
        self.stream = stream
        first = self.sent * PAGE
        rows = [
            stream | {"config": stream["config"] | {"name": f"S{number}"}}
            for number in range(first, min(first + PAGE, STREAMS))
        ]
        page |= {"total": STREAMS, "offset": first, "limit": PAGE, "streams": rows}
        yield replace(message, body=json.dumps(page).encode()).encoded()
        self.sent += 1


async def test_50000_streams_that_come_slowly_end_at_the_deadline() -> None:
    """Without the deadline their pages alone take ten seconds."""
    slow = SlowPages()
    async with (
        orders() as server,
        changed_messages(server.ports.client, slow.change) as url,
        source_of("account", nats_access(server, APP, addresses=(url,))) as source,
    ):
        before = await asyncio.to_thread(resident_bytes)
        snapshot = await poll(source, 3.0)
        grown = await asyncio.to_thread(resident_bytes) - before
    assert "timeout" in failures(snapshot).values()
    assert not snapshot.complete
    kept = {row.name for row in snapshot.streams}
    assert {f"S{number}" for number in range(PAGE)} <= kept
    assert (slow.sent - 1) * PAGE <= len(kept) <= slow.sent * PAGE < STREAMS
    assert grown < 100 * MEGABYTE
