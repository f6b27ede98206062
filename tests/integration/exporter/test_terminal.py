"""`streamgauge top --once` and `streamgauge explain` beside a real server."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import TestServer
from nats.js.api import ConsumerConfig
from support.exporter.process import UNREACHABLE, exporting
from support.nats.servers import NatsOptions, NatsServer, connected
from support.waiting import until

from exporter.pages.status.report import SystemSummary, UnwellReport
from exporter.pages.status.unwell import MAX_ROWS, PATH, UnwellRow
from exporter.terminal import remote

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[NatsServer]:
    """With a consumer that no worker ever pulls from."""
    async with NatsServer(options=NatsOptions()) as running:
        async with connected(running) as client:
            js = client.jetstream()
            await js.add_stream(name="ORDERS", subjects=["orders.>"])
            await js.add_consumer("ORDERS", ConsumerConfig(durable_name="worker"))
            for _ in range(5):
                await js.publish("orders.new", b"")
        yield running


async def ran(*words: str) -> tuple[int, str, str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STREAMGAUGE_")}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "streamgauge.cli", *words,
        stdin=DEVNULL, stdout=PIPE, stderr=PIPE, env=environment,
    )  # fmt: skip
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def test_a_consumer_without_workers_is_explained(server: NatsServer) -> None:
    async def explained() -> tuple[int, str, str]:
        return await ran("explain", "ORDERS", "worker", "--nats", server.url, "--every", "1s")

    # The server's own times show how long nothing was delivered; at first it is too short.
    _, out, err = await until(explained, lambda seen: seen[0] == 1, "never unwell")
    lines = out.splitlines()
    assert lines[0] == "ORDERS › worker (account $G)"
    assert lines[1] == "State: no worker pulls."
    assert lines[2].startswith("Warning: no worker pulls, for ")
    assert "Numbers: 5 pending, 0 of 1,000 unacknowledged, 0 redelivered, 0 pulls waiting." in lines
    assert "Next: nats consumer info ORDERS worker" in lines
    assert max(map(len, lines)) <= 80
    assert err == ""


async def test_an_unknown_consumer_and_a_dead_server_exit_by_3(server: NatsServer) -> None:
    code, out, err = await ran("explain", "ORDERS", "wrker", "--nats", server.url, "--every", "1s")
    assert (code, out) == (3, "")
    assert err == "streamgauge: nats: stream ORDERS has no consumer wrker (did you mean worker?)\n"
    code, _, err = await ran("explain", "A", "b", "--nats", UNREACHABLE, "--every", "1s")
    assert code == 3
    assert UNREACHABLE in err


async def test_top_shows_the_same_over_nats_and_over_an_exporter(
    server: NatsServer, tmp_path: Path
) -> None:
    async def shown(*words: str) -> tuple[int, str]:
        code, out, _ = await ran("top", "--once", *words)
        return code, out

    direct = await until(
        lambda: shown("--nats", server.url, "--every", "1s"), lambda seen: seen[0] == 1, "all well"
    )
    assert "$G › ORDERS › worker" in direct[1]
    async with exporting(tmp_path, "--nats", server.url, "--interval", "1s") as exporter:
        await exporter.ready()
        remote = await until(
            lambda: shown("--url", exporter.url), lambda seen: seen[0] == 1, "all well"
        )
        assert "no worker pulls  $G › ORDERS › worker" in remote[1]


async def test_top_without_an_exporter_says_so_and_exits_by_3() -> None:
    code, out, err = await ran("top", "--once", "--url", "http://127.0.0.1:1")
    assert (code, out) == (3, "")
    assert err.startswith("streamgauge: http://127.0.0.1:1: ")
    code, _, err = await ran("top", "--once", "--url", "127.0.0.1:1")
    assert (code, err) == (3, "streamgauge: --url: is not an address like http://HOST:7778\n")


SYSTEM = SystemSummary("nats", "fresh", "fresh, just now", 1, MAX_ROWS)
# asyncio reads at most this at once: a longer body comes in several pieces.
ONE_READ = 256 * 1024


async def top_of(body: bytes) -> tuple[int, str, str]:
    """`top --once` beside an exporter whose report this is."""

    async def report(_: web.Request) -> web.Response:
        return web.Response(body=body)

    app = web.Application()
    app.router.add_get(PATH, report)
    async with TestServer(app) as exporter:
        return await ran("top", "--once", "--url", str(exporter.make_url("")))


@pytest.mark.parametrize("level", [1, 2])
async def test_a_report_in_several_pieces_is_read_to_its_end(level: int) -> None:
    evidence = "x" * (ONE_READ // MAX_ROWS)
    mild = UnwellRow(1, "consumer", "nats", "A › ORDERS › worker", "stalled", evidence=evidence)
    last = msgspec.structs.replace(mild, level=level, where="LAST")
    rows = (*[mild] * (MAX_ROWS - 1), last)
    body = msgspec.json.encode(UnwellReport("1", 0.0, "", (SYSTEM,), rows))
    assert len(body) > ONE_READ
    code, out, err = await top_of(body)
    assert (code, err) == (level, "")
    assert "LAST" in out


async def test_a_report_without_rows_exits_by_0() -> None:
    body = msgspec.json.encode(UnwellReport("1", 0.0, "", (SYSTEM,), ()))
    code, out, _ = await top_of(body)
    assert (code, out.splitlines()[-1]) == (0, "Nothing is unwell.")


async def test_a_report_that_is_too_long_is_named() -> None:
    code, out, err = await top_of(b" " * (remote.LARGEST + 1))
    assert (code, out) == (3, "")
    assert err.endswith(f"its report is longer than {remote.LARGEST:,} bytes\n")
