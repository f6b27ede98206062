"""Effect of a single request on publishers: ack latency with and without the request.

A publisher in its own process sends at a constant rate; this process sends the requests.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from urllib.parse import urlencode

import aiohttp

from bench.big_server import BigServer
from bench.do_no_harm.exact_requests import at_once, show_costs, single_requests
from bench.do_no_harm.publisher import Published, Span, make_probe, publishing
from bench.table import show
from exporter.sources.jetstream_api.client import AccountApi
from exporter.sources.request_context import RequestContext, SkippedRequests
from exporter.sources.servers.jsz_pages import JszRequest
from exporter.sources.subsz.wire import SubszRequest
from exporter.sources.system import PING
from exporter.sources.transport.connection import NatsConnection, Reply
from exporter.sources.transport.credentials import NatsAccess

_STREAMS = JszRequest(config=True, limit=1024, consumers=False).payload()
ROUNDS = 12
WINDOW_SECONDS = 0.8
Request = Callable[[], Awaitable[object]]
_ALLOWED_MS = 20.0


async def compare(big: BigServer) -> None:
    system, account = NatsConnection(NatsAccess((big.address("sys"),)), "bench"), NatsConnection(
        NatsAccess((big.address("app"),)), "bench")  # fmt: skip
    await system.open()
    await account.open()
    await make_probe(big.address("app"))
    async with aiohttp.ClientSession() as session:
        requests = _requests(big, system, account, session)
        rows = [_row(name, *await _round_trips(big, request)) for name, request in requests.items()]
    header = ("request", "p50", "p99", "max", "p50", "p99", "max", "adds", "typical")
    show(
        f"publish acks in ms ({big.size}), without | with the request,\n"
        f"  over all of {ROUNDS} windows; goal: `adds`, to the maximum, at most {_ALLOWED_MS:.0f};\n"
        "  `typical`: to the median of the windows' maxima, which ignores single outliers",
        header,
        rows,
    )
    await show_costs(big, account)
    await system.close()
    await account.close()


def _requests(
    big: BigServer, system: NatsConnection, account: NatsConnection, session: aiohttp.ClientSession
) -> dict[str, Request]:
    monitor = big.server.monitor_url
    jsz = f"{monitor}/jsz?accounts=1&streams=1&consumers=1"
    api = AccountApi(account)
    number, rows = SubszRequest("APP"), SubszRequest("APP", rows=True)
    return {
        "nothing": _nothing,
        "statsz": lambda: _ping(system, "STATSZ"),
        "healthz": lambda: _ping(system, "HEALTHZ"),
        "jsz": lambda: _ping(system, "JSZ", JszRequest(limit=1024).payload()),
        "jsz_config": lambda: _ping(system, "JSZ", JszRequest(config=True, limit=1024).payload()),
        "jsz streams": lambda: _ping(system, "JSZ", _STREAMS),
        "subsz number": lambda: _ping(system, "SUBSZ", number.payload()),
        "subsz rows": lambda: _ping(system, "SUBSZ", rows.payload()),
        "http subsz rows": lambda: _fetch(session, f"{monitor}/subsz?{urlencode(rows.query())}"),
        "http jsz": lambda: _fetch(session, jsz),
        "http jsz_config": lambda: _fetch(session, jsz + "&config=1"),
        "http accstatz": lambda: _fetch(session, f"{monitor}/accstatz?unused=1"),
        "http healthz": lambda: _fetch(session, f"{monitor}/healthz"),
        "stream_list": lambda: _stream_list(api),
        "consumer_list x12": lambda: _consumer_lists(api),
        **{
            f"{single.name} x{single.in_a_round}": at_once(account, single)
            for single in single_requests()
        },
    }


async def _nothing() -> None:
    return


async def _ping(connection: NatsConnection, what: str, payload: bytes = b"") -> None:
    def has_one(replies: list[Reply]) -> bool:
        return bool(replies)

    await connection.gather(
        f"{PING}.{what}", payload, enough=has_one, quiet=30, timeout=30,
        headers={"Accept-Encoding": "gzip"},
    )  # fmt: skip


async def _fetch(session: aiohttp.ClientSession, url: str) -> None:
    async with session.get(url) as response:
        async for _ in response.content.iter_any():
            pass


def _context() -> RequestContext:
    return RequestContext(time.monotonic() + 60, SkippedRequests())


async def _stream_list(api: AccountApi) -> list[str]:
    names = []
    async for page in api.stream_pages(_context()):
        names += [name for name, _ in page.rows if name]
    return names


async def _consumer_lists(api: AccountApi) -> None:
    waiting = iter(await _stream_list(api))

    async def worker() -> None:
        for name in waiting:
            async for _ in api.consumer_pages(name, _context()):
                pass

    await asyncio.gather(*(worker() for _ in range(12)))


async def _round_trips(big: BigServer, request: Request) -> tuple[Published, list[Span]]:
    """The published messages, and the windows in which the request was in flight."""
    windows = []
    async with publishing(big.address("app")) as published:
        for _ in range(ROUNDS):
            await asyncio.sleep(WINDOW_SECONDS)
            started = time.monotonic()
            await request()
            windows.append((started, max(time.monotonic(), started + WINDOW_SECONDS)))
            await asyncio.sleep(max(0.0, WINDOW_SECONDS - (time.monotonic() - started)))
    return published, windows


def _row(name: str, published: Published, windows: list[Span]) -> tuple[str, ...]:
    before = [(first - WINDOW_SECONDS, first) for first, _ in windows]
    without, having = published.within(before), published.within(windows)
    typical = statistics.median(published.worst_of_each(windows)) - statistics.median(
        published.worst_of_each(before)
    )
    added = (having.worst - without.worst, typical)
    cells = [f"{value * 1000:.1f}" for value in added]
    return (name, *without.milliseconds(), *having.milliseconds(), *cells)
