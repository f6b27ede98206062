"""`streamgauge exporter` as people run it: a process of its own beside a real server."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import re
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from nats.js.api import ConsumerConfig
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as openmetrics_families,
)
from support.exporter.process import (
    PLAIN,
    UNREACHABLE,
    Exporter,
    Series,
    add_orders,
    exporting,
    ran,
    read_series,
    without_time,
)
from support.nats.servers import (
    APP,
    SYS,
    Login,
    NatsOptions,
    NatsServer,
    connected,
    default_options,
)
from support.waiting import until

from streamgauge.demo.processes.ports import free_ports

pytestmark = pytest.mark.asyncio(loop_scope="module")

# As a Prometheus 2.42 sent it, and as 3.x composes it from its default scrape_protocols.
PROMETHEUS_2 = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)
PROMETHEUS_3 = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    "application/openmetrics-text;version=0.0.1;q=0.5,"
    "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)
TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
OWN = ("process_", "python_")
# Another test reloads, and a busy machine may not keep an interval of a second.
NOT_ABOUT_NATS = {
    "configuration reloaded",
    "poll takes longer than the interval, raise it",
    "polls fit the interval again",
}


# What is promised, in seconds. By the exporter's own clock: the end of a process takes longer on a busy machine.
IDLE_STOP, BUSY_STOP = 2.0, 10.0
LONG_NAMES = 500


def stop_seconds(log: list[str]) -> float:
    """Its last line says how long the stop took."""
    _, found, seconds = log[-1].partition("exporter.main  stopped seconds=")
    assert found, log[-1]
    return float(seconds)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[NatsServer]:
    """Open to everybody, as after `nats-server -js`."""
    async with NatsServer(options=NatsOptions()) as running:
        async with connected(running) as client:
            await add_orders(client)
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def exporter(
    server: NatsServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Exporter]:
    """Started only with `--nats`; the variables adapt it to the test."""
    environ = {"STREAMGAUGE_INTERVAL": "1s", "STREAMGAUGE_LOG_FORMAT": "json"}
    folder = tmp_path_factory.mktemp("exporter")
    async with exporting(folder, "--nats", server.url, environ=environ) as running:
        await running.ready()
        yield running


def measured(body: bytes) -> set[bytes]:
    """The lines that two scrapes of one poll have in common: those about NATS."""
    about_nats = (b"streamgauge_consumer_", b"streamgauge_stream_", b"streamgauge_server_info")
    return {line for line in body.splitlines() if line.startswith(about_nats)}


# --- scraping -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("source", "login"), [("account", APP), ("system", SYS)])
async def test_a_system_without_a_name_takes_the_domain(
    source: str, login: Login, tmp_path: Path
) -> None:
    environ = {"STREAMGAUGE_INTERVAL": "1s", "STREAMGAUGE_PASSWORD": login.password}
    async with NatsServer(options=default_options(domain="hub")) as server:
        flags = ("--nats", server.url, "--source", source, "--user", login.user)
        async with exporting(tmp_path, *flags, environ=environ) as exporter:
            await exporter.ready()
            found = await until(
                exporter.scrape, lambda seen: seen.value("up") == 1, "no complete poll"
            )
    assert found.value("up", system="hub") == 1
    assert found.value("up", system="nats") is None
    assert found.named("account_streams", system="hub") != []


async def test_it_works_with_an_address_alone(exporter: Exporter) -> None:
    series = await exporter.scrape()
    assert series.named("consumer_num_pending", system="nats", stream="ORDERS") == [5, 5, 5]
    assert series.value("stream_messages", system="nats", stream="ORDERS") == 5
    assert series.value("up", system="nats") == 1
    assert series.value("config_last_reload_success") == 1


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [(PROMETHEUS_2, OPENMETRICS), (PROMETHEUS_3, OPENMETRICS), ("*/*", TEXT), ("", TEXT)],
)
async def test_the_format_follows_the_accept_header(
    exporter: Exporter, accept: str, content_type: str
) -> None:
    response = await exporter.request("/metrics", headers={**PLAIN, "Accept": accept})
    assert (response.status, response.headers["Content-Type"]) == (200, content_type)
    if content_type == OPENMETRICS:
        names = {family.name for family in openmetrics_families(response.text)}  # type: ignore[no-untyped-call]
    else:
        names = {name.removesuffix("_total") for name in read_series(response.text)}
    assert {"streamgauge_consumer_deliveries", "streamgauge_stream_messages"} <= names


async def test_gzip_and_plain_hold_the_same(exporter: Exporter) -> None:
    packed = await exporter.request("/metrics", headers={"Accept-Encoding": "gzip"})
    plain = await exporter.request("/metrics", headers=PLAIN)
    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Vary"] == plain.headers["Vary"] == "Accept, Accept-Encoding"
    lines = measured(plain.body)
    assert measured(gzip.decompress(packed.body)) == lines
    assert len(lines) > 50


async def test_head_has_the_headers_of_get(exporter: Exporter) -> None:
    for headers in (PLAIN, {"Accept-Encoding": "gzip"}):
        head = await exporter.request("/metrics", "HEAD", headers)
        assert (head.status, head.body) == (200, b"")
        assert int(head.headers["Content-Length"]) > 1000
        assert head.headers["Content-Type"] == TEXT


async def test_collect_leaves_only_the_chosen_and_its_own(exporter: Exporter) -> None:
    def subjects(series: Series) -> set[str]:
        return {
            name.split("_")[1]
            for name in series
            if not name.startswith(OWN) and name.split("_")[1] in wanted
        }

    wanted = {"consumer", "stream", "server", "account"}
    everything, chosen = await exporter.scrape(), await exporter.scrape("?collect[]=consumer")
    assert subjects(everything) == wanted
    assert subjects(chosen) == {"consumer"}
    assert chosen.value("up", system="nats") == 1


async def test_an_unknown_choice_is_refused_in_words(exporter: Exporter) -> None:
    response = await exporter.request("/metrics?collect[]=queue")
    assert response.status == 400
    assert response.text == (
        "unknown parameter collect[]=queue: collect[] takes consumer, stream, server, account\n"
    )


async def test_the_pages_are_there(exporter: Exporter) -> None:
    status = (await exporter.request("/")).text
    assert "worker-0" in (await exporter.request("/consumers")).text
    for link in ("docs/metrics", "docs/configuration", "streams", "servers"):
        assert f'href="{link}"' in status
        assert (await exporter.request(f"/{link}")).status == 200


async def test_a_reload_needs_a_post_and_the_lifecycle_api(exporter: Exporter) -> None:
    assert (await exporter.request("/-/reload")).status == 405
    response = await exporter.request("/-/reload", "POST")
    assert response.status == 403
    assert "--web.enable-lifecycle" in response.text


async def test_five_good_polls_make_no_line_twice(exporter: Exporter) -> None:
    durations: set[float | None] = set()

    async def different_polls() -> int:
        durations.add((await exporter.scrape()).value("poll_duration_seconds", system="nats"))
        return len(durations)

    await until(different_polls, lambda seen: seen >= 5, "no five polls")
    lines = [json.loads(line) for line in await exporter.log_lines()]
    messages = [line["msg"] for line in lines if line["msg"] not in NOT_ABOUT_NATS]
    assert sorted(messages) == [
        "event subscriptions connected",
        "first audit",
        "first response",
        "server responds",
        "serving",
        "system named",
    ]
    assert lines[0]["fields"]["listen"] == exporter.url


# --- starting and ending --------------------------------------------------------------------------


async def test_it_is_ready_when_the_first_poll_ended_even_without_nats(tmp_path: Path) -> None:
    connected_to_us = asyncio.Event()
    hang_up = asyncio.Event()

    async def send_nothing(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected_to_us.set()
        await hang_up.wait()
        writer.close()

    mute = await asyncio.start_server(send_nothing, "127.0.0.1", 0)
    port = mute.sockets[0].getsockname()[1]
    async with mute, exporting(tmp_path, "--nats", f"nats://127.0.0.1:{port}") as exporter:
        await exporter.listening()
        await connected_to_us.wait()
        waiting = await exporter.request("/-/ready")
        assert (waiting.status, waiting.text) == (503, "the first poll has not finished yet\n")
        assert (await exporter.scrape()).value("up", system="nats") is None
        hang_up.set()
        await exporter.ready()
        assert (await exporter.request("/-/healthy")).status == 200
        assert (await exporter.scrape()).value("up", system="nats") == 0


async def test_once_prints_what_a_scrape_would_get(server: NatsServer) -> None:
    ended = await ran("--nats", server.url, "--once")
    assert (ended.code, ended.err) == (0, "")
    series = read_series(ended.out)
    assert series.named("consumer_num_pending", stream="ORDERS") == [5, 5, 5]
    assert series.value("up", system="nats") == 1


async def test_once_prints_a_reason_without_any_response() -> None:
    ended = await ran("--nats", UNREACHABLE, "--once", "--system", "mine")
    assert ended.code == 1
    (line,) = ended.err.splitlines()
    assert line.startswith(f"streamgauge: mine: stream_list failed (connection): {UNREACHABLE}: ")
    assert read_series(ended.out).value("up", system="mine") == 0


async def test_once_into_a_closed_pipe_prints_no_traceback(server: NatsServer) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        ended = await ran("--nats", server.url, "--once", stdout=write_end)
    finally:
        os.close(write_end)
    assert (ended.code, ended.err) == (0, "")


async def test_a_port_in_use_is_one_line_and_exit_2(exporter: Exporter) -> None:
    ended = await ran("--nats", UNREACHABLE, "--web.listen-address", f"127.0.0.1:{exporter.port}")
    assert ended.code == 2
    address = f"127.0.0.1:{exporter.port}"
    assert ended.err == f"streamgauge: --web.listen-address: {address}: Address already in use\n"


@asynccontextmanager
async def with_long_names(folder: Path) -> AsyncIterator[Exporter]:
    """Its metrics take more than the kernel buffers."""
    async with NatsServer(options=NatsOptions()) as many_streams:
        async with connected(many_streams) as client:
            js = client.jetstream()
            await js.add_stream(name="CROWD", subjects=["crowd"])
            for number in range(LONG_NAMES):
                name = f"consumer-with-a-long-name-{'x' * 200}-{number}"
                await js.add_consumer("CROWD", ConsumerConfig(durable_name=name, mem_storage=True))
        flags = ("--nats", many_streams.url, "--detail", "full")
        async with exporting(folder, *flags) as exporter:
            await exporter.ready()
            yield exporter


async def test_sigterm_lets_a_scrape_under_way_finish(tmp_path: Path) -> None:
    async with with_long_names(tmp_path) as exporter:
        size, body = await _scraped_slowly_during_shutdown(exporter)
        assert await exporter.child.ended() == 0
        log = without_time(await exporter.log_lines())
    assert len(body) == size
    assert body.count(b"\nstreamgauge_consumer_num_pending{") == LONG_NAMES
    assert log[-2] == "INFO  exporter.main  stopping"
    assert stop_seconds(log) <= BUSY_STOP


async def test_sigterm_does_not_wait_for_a_client_that_does_not_read(tmp_path: Path) -> None:
    async with with_long_names(tmp_path) as exporter:
        reader, writer = await _requested_scrape(exporter)
        await reader.readuntil(b"\r\n\r\n")
        exporter.signal(signal.SIGTERM)
        assert await exporter.child.ended() == 0
        writer.close()
        assert stop_seconds(await exporter.log_lines()) <= BUSY_STOP


async def _requested_scrape(
    exporter: Exporter,
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Requested, on a connection that holds little of the response."""
    reader_side = socket.socket()
    # A small window: the kernel must not buffer the whole response.
    reader_side.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    reader_side.setblocking(False)
    await asyncio.get_running_loop().sock_connect(reader_side, ("127.0.0.1", exporter.port))
    reader, writer = await asyncio.open_connection(sock=reader_side, limit=4096)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    return reader, writer


async def _scraped_slowly_during_shutdown(exporter: Exporter) -> tuple[int, bytes]:
    """The announced size of the body and the body, most of it read after SIGTERM."""
    reader, writer = await _requested_scrape(exporter)
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    size = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    exporter.signal(signal.SIGTERM)

    async def is_stopping() -> bool:
        return "stopping" in await exporter.child.log_text()

    await until(is_stopping, bool, "no reaction to SIGTERM")
    body = await reader.read(-1)
    writer.close()
    return size, body


async def test_a_line_at_the_start_says_that_everyone_may_read(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    warned = "no authentication, every client that reaches this address can read"
    for address, lines in ((f"0.0.0.0:{port}", 1), (f"127.0.0.1:{port}", 0)):
        async with exporting(
            tmp_path, "--nats", UNREACHABLE, "--web.listen-address", address
        ) as exporter:

            async def log() -> str:
                return "\n".join(await exporter.log_lines())

            # The first poll ends after the line would have been written.
            text = await until(log, lambda seen: "request failed" in seen, "no poll")
            assert text.count(warned) == lines


async def test_sigterm_ends_an_idle_exporter(tmp_path: Path, server: NatsServer) -> None:
    async with exporting(tmp_path, "--nats", server.url) as exporter:
        await exporter.ready()
        exporter.signal(signal.SIGTERM)
        assert await exporter.child.ended() == 0
        assert stop_seconds(await exporter.log_lines()) <= IDLE_STOP


async def test_sigterm_does_not_wait_for_a_server_that_stalls(tmp_path: Path) -> None:
    environ = {"STREAMGAUGE_INTERVAL": "1s", "STREAMGAUGE_TIMEOUT": "1h"}
    async with (
        NatsServer(options=NatsOptions()) as stalled,
        exporting(tmp_path, "--nats", stalled.url, environ=environ) as exporter,
    ):
        await exporter.ready()
        os.kill(stalled.pid, signal.SIGSTOP)
        try:

            async def age() -> float:
                return (await exporter.scrape()).value("snapshot_age_seconds") or 0

            # Older than two intervals: a poll waits for the server.
            await until(age, lambda seen: seen > 2.5, "polls go on")
            exporter.signal(signal.SIGTERM)
            assert await exporter.child.ended() == 0
            assert stop_seconds(await exporter.log_lines()) <= BUSY_STOP
        finally:
            os.kill(stalled.pid, signal.SIGCONT)


STALLED_NAMES = """
import os, socket, threading
real = socket.getaddrinfo
def stalled(host, *others, **named):
    if str(host).endswith(".stalled.example"):
        os.write(1, f"looking up {host}\\n".encode())
        threading.Event().wait()
    return real(host, *others, **named)
socket.getaddrinfo = stalled
"""


async def test_names_that_are_looked_up_for_ever_hold_up_neither_others_nor_the_stop(
    tmp_path: Path, server: NatsServer
) -> None:
    """More of them than the process has threads for polls and scrapes."""
    await asyncio.to_thread((tmp_path / "sitecustomize.py").write_text, STALLED_NAMES)
    stalled = [f"n{number}.stalled.example" for number in range(40)]
    systems = "".join(f"  - {{name: {host}, urls: ['nats://{host}:4222']}}\n" for host in stalled)
    config = tmp_path / "exporter.yml"
    text = f"interval: 1s\nsystems:\n  - {{name: here, urls: ['{server.url}']}}\n{systems}"
    await asyncio.to_thread(config.write_text, text)
    environ = {"PYTHONPATH": os.pathsep.join((str(tmp_path), os.environ.get("PYTHONPATH", "")))}
    async with exporting(tmp_path, "--config", str(config), environ=environ) as exporter:
        await exporter.ready()  # every system was polled once

        async def polled() -> float | None:
            return (await exporter.scrape()).value("up", system="here")

        assert await until(polled, lambda up: up == 1, "the other system is not polled") == 1
        exporter.signal(signal.SIGTERM)
        assert await exporter.child.ended() == 0
        log = [line for line in await exporter.log_lines() if not line.startswith("looking up")]
        assert stop_seconds(log) <= BUSY_STOP
        text = await exporter.child.log_text()
    # Each name once, however often it was polled.
    assert sorted(re.findall(r"looking up (\S+)", text)) == sorted(stalled)
