"""The HTTP server under clients that send nothing, half a request, or no Host header."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import errno
import logging
import socket
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import bcrypt
import pytest
from aiohttp import web
from support.bad_requests import BAD_REQUESTS, SECRET
from support.certificates import Authority
from support.waiting import until

from streamgauge.demo.processes.ports import free_ports
from streamgauge.serving.log_format import JsonFormatter, TextFormatter
from streamgauge.serving.settings.server import ServerSettings
from streamgauge.serving.web.connection_limits import ConnectionDrop, ConnectionLimits
from streamgauge.serving.web.live_config import LiveWebConfig
from streamgauge.serving.web.routes import add_health
from streamgauge.serving.web.server import HttpServer, ListenError, health_servers

GET = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"
HALF = b"GET / HTTP/1.1\r\nHost: h\r\n"
MANY_DESCRIPTORS = 100_000
Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Serving:
    port: int
    limits: ConnectionLimits
    entered: asyncio.Event
    gate: asyncio.Event
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def connect(self, sent: bytes = b"") -> Stream:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writers.append(writer)
        writer.write(sent)
        return reader, writer

    async def closed(self, stream: Stream) -> bool:
        with contextlib.suppress(ConnectionResetError):
            return await stream[0].read() == b""
        return True

    async def has_open(self, count: int) -> None:
        async def number() -> int:
            return len(self.limits)

        await until(number, lambda found: found == count, f"not {count} connections")


async def response_code(stream: Stream) -> int:
    line = await stream[0].readline()
    assert line, "closed without a response"
    headers = await stream[0].readuntil(b"\r\n\r\n")
    size = next(int(line[15:]) for line in headers.splitlines() if b"Content-Length" in line)
    await stream[0].readexactly(size)
    return int(line.split()[1])


@contextlib.asynccontextmanager
async def serving(
    *,
    connections: int = 512,
    header: float = 60.0,
    idle: float = 60.0,
    descriptors: int = MANY_DESCRIPTORS,
    config: Path | None = None,
) -> AsyncIterator[Serving]:
    """`/slow` waits for the gate."""
    entered, gate = asyncio.Event(), asyncio.Event()

    async def fast(_: web.Request) -> web.Response:
        return web.Response(text="here")

    async def slow(_: web.Request) -> web.Response:
        entered.set()
        await gate.wait()
        return web.Response(text="late")

    app = web.Application()
    app.router.add_get("/", fast)
    app.router.add_get("/slow", slow)
    port = free_ports(1)[0]
    settings = ServerSettings(
        listen_address=f"127.0.0.1:{port}",
        max_connections=connections,
        header_timeout=header,
        idle_timeout=idle,
    )
    live = await asyncio.to_thread(LiveWebConfig, config)
    live.protect(app)
    limits = ConnectionLimits(settings, descriptors)
    server = HttpServer(app, settings, limits, live.ssl_context())
    await server.start()
    made = Serving(port, limits, entered, gate)
    try:
        yield made
    finally:
        gate.set()
        for writer in made.writers:
            writer.close()
        await server.stop()


# --- the maximum ----------------------------------------------------------------------------------


async def test_a_new_connection_replaces_the_oldest_silent_one() -> None:
    async with serving(connections=3) as server:
        silent = [await server.connect() for _ in range(3)]
        await server.has_open(3)
        late = await server.connect(GET)
        assert await response_code(late) == 200
        assert await server.closed(silent[0])
        assert len(server.limits) == 3
        assert server.limits.dropped == {ConnectionDrop.EVICTED: 1}


async def test_a_client_with_a_response_outlives_any_number_of_silent_ones() -> None:
    async with serving(connections=3) as server:
        scraper = await server.connect(GET)
        assert await response_code(scraper) == 200
        for _ in range(20):
            await server.connect(HALF)

        async def evicted() -> int:
            return server.limits.dropped[ConnectionDrop.EVICTED]

        await until(evicted, lambda count: count == 18, "not all were accepted")
        scraper[1].write(GET)
        assert await response_code(scraper) == 200


@pytest.fixture
def with_users(tmp_path: Path) -> Path:
    hashed = bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode()
    config = tmp_path / "web.yml"
    config.write_text(f"basic_auth_users: {{prometheus: {hashed}}}\n")
    return config


async def test_a_client_that_could_not_authenticate_is_replaced_first(with_users: Path) -> None:
    user = base64.b64encode(b"prometheus:secret")
    async with serving(connections=2, config=with_users) as server:
        wrong = await server.connect(GET)
        assert await response_code(wrong) == 401
        right = await server.connect(HALF + b"Authorization: Basic " + user + b"\r\n\r\n")
        assert await response_code(right) == 200
        await server.connect()
        assert await server.closed(wrong)


async def test_busy_connections_are_not_replaced() -> None:
    async with serving(connections=1) as server:
        busy = await server.connect(GET.replace(b"/", b"/slow", 1))
        await server.entered.wait()
        assert await server.closed(await server.connect())
        assert server.limits.dropped == {ConnectionDrop.REFUSED: 1}
        server.gate.set()
        assert await response_code(busy) == 200


async def test_the_longest_idle_one_is_replaced_when_all_had_a_response() -> None:
    async with serving(connections=2) as server:
        first, second = await server.connect(), await server.connect()
        for each in (second, first):
            each[1].write(GET)
            assert await response_code(each) == 200
        assert await response_code(await server.connect(GET)) == 200
        assert await server.closed(second)
        first[1].write(GET)
        assert await response_code(first) == 200


async def test_the_maximum_leaves_descriptors_for_files(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(descriptors=64) as server:
        for _ in range(40):
            await server.connect()
        await server.has_open(32)
    assert "fewer connections than web.max_connections" in caplog.records[0].message


async def test_a_failing_accept_is_logged_once_and_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failures, real = 3, socket.socket.accept

    def accept(listener: socket.socket) -> tuple[socket.socket, object]:
        nonlocal failures
        if failures:
            failures -= 1
            raise OSError(errno.EMFILE, "too many open files")
        return real(listener)

    async with serving() as server:
        monkeypatch.setattr(socket.socket, "accept", accept)
        assert await response_code(await server.connect(GET)) == 200
        assert server.limits.dropped == {ConnectionDrop.ACCEPT: 3}
    assert [record.message for record in caplog.records] == ["cannot accept connections"]


# --- timeouts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("sent", [b"", b"G", HALF])
async def test_headers_must_arrive_in_time(sent: bytes) -> None:
    async with serving(header=0.1) as server:
        stream = await server.connect(sent)
        assert await server.closed(stream)
        assert server.limits.dropped == {ConnectionDrop.TIMEOUT: 1}


async def test_headers_of_a_later_request_must_arrive_in_time_too() -> None:
    async with serving(header=0.1) as server:
        stream = await server.connect(GET)
        assert await response_code(stream) == 200
        stream[1].write(HALF)
        assert await server.closed(stream)
        assert server.limits.dropped == {ConnectionDrop.TIMEOUT: 1}


async def test_bytes_one_by_one_do_not_extend_the_time() -> None:
    async with serving(header=0.2) as server:
        stream = await server.connect(HALF)

        async def drip() -> None:
            while True:
                stream[1].write(b"X")
                await asyncio.sleep(0.01)

        dripping = asyncio.create_task(drip())
        assert await server.closed(stream)
        dripping.cancel()


async def test_a_request_that_is_handled_may_take_longer() -> None:
    async with serving(header=0.1) as server:
        stream = await server.connect(GET.replace(b"/", b"/slow", 1))
        await server.entered.wait()
        assert await server.closed(await server.connect())  # at least that time has passed
        server.gate.set()
        assert await response_code(stream) == 200


async def test_an_idle_connection_is_closed_without_a_count() -> None:
    async with serving(header=0.1, idle=1.0) as server:
        stream = await server.connect(GET)
        assert await response_code(stream) == 200
        assert await server.closed(stream)
        assert not server.limits.dropped


# --- single requests ------------------------------------------------------------------------------


async def test_a_half_closed_request_gets_its_response_and_is_closed() -> None:
    async with serving() as server:
        stream = await server.connect(GET)
        stream[1].write_eof()
        assert await response_code(stream) == 200
        assert await server.closed(stream)


async def test_a_request_half_closed_while_it_is_handled_gets_its_response() -> None:
    async with serving() as server:
        stream = await server.connect(GET.replace(b"/", b"/slow", 1))
        await server.entered.wait()
        stream[1].write_eof()
        server.gate.set()
        assert await response_code(stream) == 200
        assert await server.closed(stream)


async def test_http_1_1_needs_one_host_header(caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as server:
        for request, code in (
            (b"GET / HTTP/1.1\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
            (b"GET / HTTP/1.0\r\n\r\n", 200),
            (GET, 200),
        ):
            assert await response_code(await server.connect(request)) == code
    assert len(caplog.records) == 1  # both bad ones are of one kind


@pytest.mark.parametrize("bad", BAD_REQUESTS.values(), ids=BAD_REQUESTS)
async def test_no_log_line_has_bytes_of_a_bad_request(
    bad: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with serving() as server:
        stream = await server.connect(bad)
        assert await response_code(stream) == 400
        assert await server.closed(stream)
    [record] = [each for each in caplog.records if each.name == HttpServer.__module__]
    for formatter in (JsonFormatter(tracebacks=True), TextFormatter(tracebacks=True)):
        line = formatter.format(record)
        assert "127.0.0.1" in line
        assert "error" in line
        assert SECRET not in line
    assert SECRET not in caplog.text


async def test_an_address_in_use_is_an_error_with_the_address() -> None:
    async with serving() as server:
        settings = ServerSettings(listen_address=f"127.0.0.1:{server.port}")
        other = HttpServer(web.Application(), settings, ConnectionLimits(settings, 1024))
        with pytest.raises(ListenError, match=rf"127.0.0.1:{server.port}: Address already in use"):
            await other.start()
        await other.stop()


# --- TLS ------------------------------------------------------------------------------------------


@pytest.fixture
def with_tls(tmp_path: Path) -> tuple[Path, ssl.SSLContext]:
    """The server's configuration and the client's context."""
    authority = Authority.create(tmp_path)
    issued = authority.issue("server")
    config = tmp_path / "web.yml"
    config.write_text(f"tls_server_config: {{cert_file: {issued.cert}, key_file: {issued.key}}}\n")
    return config, ssl.create_default_context(cafile=str(authority.cert))


async def test_tls_is_served_and_a_silent_handshake_is_replaced(
    with_tls: tuple[Path, ssl.SSLContext],
) -> None:
    config, trusted = with_tls
    async with serving(connections=2, config=config) as server:
        silent = [await server.connect() for _ in range(2)]
        await server.has_open(2)
        async with aiohttp.ClientSession() as client:
            url = f"https://127.0.0.1:{server.port}/"
            async with client.get(url, ssl=trusted) as response:
                assert response.status == 200
        assert await server.closed(silent[0])
        assert server.limits.dropped == {ConnectionDrop.EVICTED: 1}
        garbage = await server.connect(b"GET / HTTP/1.0\r\n\r\n")
        await garbage[0].read()
        assert server.limits.dropped[ConnectionDrop.HANDSHAKE] == 1


# --- health for probes ----------------------------------------------------------------------------


async def healthy(_: web.Request) -> web.Response:
    return web.Response(text="healthy\n")


async def test_probes_have_an_address_without_tls_and_password(tmp_path: Path) -> None:
    async def ready(_: web.Request) -> web.Response:
        return web.Response(status=503, text="not yet\n")

    hashed = bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode()
    main, probes = free_ports(2)
    config = tmp_path / "web.yml"
    text = f"basic_auth_users: {{prometheus: '{hashed}'}}\n"
    await asyncio.to_thread(config.write_text, text)
    settings = ServerSettings(
        listen_address=f"127.0.0.1:{main}", health_address=f"127.0.0.1:{probes}"
    )
    app = web.Application()
    add_health(app, settings, healthy, ready)
    live = await asyncio.to_thread(LiveWebConfig, config)
    live.protect(app)
    limits = ConnectionLimits(settings, MANY_DESCRIPTORS)
    servers = [HttpServer(app, settings, limits), *health_servers(app, settings, limits)]
    found = {}
    try:
        for each in servers:
            await each.start()
        async with aiohttp.ClientSession() as session:
            for port in (main, probes):
                for path in ("/-/healthy", "/-/ready", "/metrics"):
                    async with session.get(f"http://127.0.0.1:{port}{path}") as response:
                        found[port, path] = response.status
    finally:
        for each in servers:
            await each.stop()
    assert found == {
        (main, "/-/healthy"): 401, (main, "/-/ready"): 401, (main, "/metrics"): 401,
        (probes, "/-/healthy"): 200, (probes, "/-/ready"): 503, (probes, "/metrics"): 404,
    }  # fmt: skip


def test_without_an_address_there_is_no_server_for_probes() -> None:
    settings = ServerSettings(listen_address="127.0.0.1:1")
    limits = ConnectionLimits(settings, MANY_DESCRIPTORS)
    assert health_servers(web.Application(), settings, limits) == []


async def test_silent_probes_take_few_descriptors_and_are_counted_with_the_others() -> None:
    port = free_ports(1)[0]
    settings = ServerSettings(
        listen_address="127.0.0.1:1", health_address=f"127.0.0.1:{port}", max_connections=512
    )
    limits = ConnectionLimits(settings, 64)
    app = web.Application()
    add_health(app, settings, healthy, healthy)
    [probes] = health_servers(app, settings, limits)
    await probes.start()
    try:
        streams = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]

        async def evicted() -> int:
            return limits.dropped[ConnectionDrop.EVICTED]

        await until(evicted, lambda count: count == 12, "more than eight are open")
        for _, writer in streams:
            writer.close()
    finally:
        await probes.stop()
