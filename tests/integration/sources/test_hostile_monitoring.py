"""A monitoring port that drips, nests, overwhelms or changes its password."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from aiohttp import ClientSession, encode_basic_auth, web
from support.exporter.source_polls import failures, monitor_source, outcome, poll
from support.nats.servers import NatsServer, default_options

from exporter.sources.monitor import HttpAccess
from exporter.sources.servers.snapshot import SourceOptions
from streamgauge.demo.nats_server.message_proxy import HOST

MEGABYTE: Final = 1024**2
NESTED: Final = b'{"x":' * 100_000
WHOLE_POLL: Final = 5.0  # seconds


@asynccontextmanager
async def monitoring(
    respond: Callable[[web.Request, web.StreamResponse], Awaitable[None]],
) -> AsyncIterator[HttpAccess]:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await respond(request, response)
        return response

    app = web.Application()
    app.router.add_get("/{path:.*}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, 0).start()
        yield HttpAccess((f"http://{HOST}:{runner.addresses[0][1]}",))
    finally:
        await runner.cleanup()


async def test_a_monitoring_port_that_drips_ends_at_the_deadline() -> None:
    async def slowly(request: web.Request, response: web.StreamResponse) -> None:
        await response.prepare(request)
        for byte in b'{"server_id":"' + b"A" * 10_000:
            await response.write(bytes((byte,)))
            await asyncio.sleep(0.05)  # the fault itself

    async with monitoring(slowly) as access, monitor_source(access) as source:
        snapshot = await poll(source, 1.0)
    assert failures(snapshot)["varz"] == "timeout"


async def test_a_monitoring_port_that_nests_is_malformed() -> None:
    async def nested(request: web.Request, response: web.StreamResponse) -> None:
        await response.prepare(request)
        await response.write(NESTED)

    async with monitoring(nested) as access, monitor_source(access) as source:
        snapshot = await poll(source, WHOLE_POLL)
    assert failures(snapshot)["varz"] == "malformed"


async def test_a_monitoring_port_cannot_send_more_than_the_limit() -> None:
    sent = 0

    async def huge(request: web.Request, response: web.StreamResponse) -> None:
        nonlocal sent
        await response.prepare(request)
        for _ in range(200):
            await response.write(b" " * MEGABYTE)
            sent += MEGABYTE

    options = SourceOptions(system="test", max_response_bytes=8 * MEGABYTE)
    async with monitoring(huge) as access, monitor_source(access, options) as source:
        snapshot = await poll(source, WHOLE_POLL)
    assert failures(snapshot)["varz"] == "size"
    assert 0 < sent < 50 * MEGABYTE


async def test_a_password_that_rotates_is_read_again(tmp_path: Path) -> None:
    secret, valid = tmp_path / "password", "old"
    await asyncio.to_thread(secret.write_text, "old\n")

    async with (
        NatsServer(options=default_options()) as server,
        ClientSession(server.monitor_url) as behind,
    ):

        async def protected(request: web.Request, response: web.StreamResponse) -> None:
            given = request.headers.get("Authorization", "")
            if given != encode_basic_auth("prom", valid):
                response.set_status(401)
                await response.prepare(request)
                return
            await response.prepare(request)
            async with behind.get(request.rel_url) as passed:
                await response.write(await passed.read())

        async with monitoring(protected) as plain:
            access = replace(plain, user="prom", password_file=secret)
            async with monitor_source(access) as source:
                assert failures(await poll(source)) == {}
                valid = "new"
                refused = await poll(source, WHOLE_POLL)
                await asyncio.to_thread(secret.write_text, "new\n")
                again = await poll(source)
    assert failures(refused)["varz"] == "permission"
    assert (failures(again), again.complete) == ({}, True)


async def test_a_name_that_does_not_resolve_is_named() -> None:
    async with monitor_source(HttpAccess(("http://nats.invalid:8222",))) as source:
        snapshot = await poll(source, WHOLE_POLL)
    assert failures(snapshot)["varz"] == "connection"
    assert "nats.invalid" in outcome(snapshot, "varz").detail
