"""Cost of a scrape of a running exporter, and of the peers if they are on PATH."""

from __future__ import annotations

import asyncio
import shutil
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

import aiohttp

from bench.big_server import BigServer
from bench.process import child, cpu_seconds, free_port, peak_bytes, python, until_ready
from bench.table import megabytes, seconds, show

_HEADERS = {"Accept-Encoding": "gzip"}
_SCRAPES = 10
_PEER_SCRAPES = 3
_INTERVAL = 15
_LONGEST = aiohttp.ClientTimeout(total=300)


@dataclass(frozen=True, slots=True)
class Scrape:
    first_byte: float
    whole: float
    size: int


@dataclass(frozen=True, slots=True)
class Cost:
    """One poll and one scrape together, as the peers do both at once."""

    name: str
    wall: float
    cpu: float
    peak: int
    size: int


async def scrape(session: aiohttp.ClientSession, url: str) -> Scrape:
    started = time.perf_counter()
    async with session.get(url, headers=_HEADERS) as response:
        first_byte = time.perf_counter() - started
        size = 0
        async for chunk in response.content.iter_any():
            size += len(chunk)
        if response.status != 200:
            raise RuntimeError(f"{url}: HTTP {response.status}")
    return Scrape(first_byte, time.perf_counter() - started, size)


def exporter_command(address: str, source: str, port: int, interval: str) -> Sequence[str]:
    return python("-m", "streamgauge.cli", "exporter", "--nats", address, "--source", source,
                  "--web.listen-address", f"127.0.0.1:{port}", "--interval", interval)  # fmt: skip


async def compare(big: BigServer) -> None:
    # auto_decompress off: the decompression in this client is not part of the cost.
    async with aiohttp.ClientSession(auto_decompress=False, timeout=_LONGEST) as session:
        costs = [await _ours(session, big, source) for source in ("system", "monitor", "account")]
    found = await peers(big)
    rows = [_row(cost, costs[0]) for cost in costs]
    rows += [
        _row(cost, costs[0])
        if isinstance(cost, Cost)
        else (cost, "not present", "", "", "", "", "")
        for cost in found
    ]
    header = ("", "scrape", "CPU", "x ours", "peak", "x ours", "gzip")
    show(f"one poll and one scrape ({big.size})", header, rows)


def _row(cost: Cost, ours: Cost) -> tuple[str, ...]:
    return (
        cost.name,
        seconds(cost.wall),
        seconds(cost.cpu),
        f"{cost.cpu / ours.cpu:.1f}",
        megabytes(cost.peak),
        f"{cost.peak / ours.peak:.1f}",
        f"{cost.size / 1e6:.1f} MB",
    )


async def _ours(session: aiohttp.ClientSession, big: BigServer, source: str) -> Cost:
    port = free_port()
    address = {
        "system": big.address("sys"),
        "account": big.address("app"),
        "monitor": big.server.monitor_url,
    }[source]
    command = exporter_command(address, source, port, f"{_INTERVAL}s")
    argv = (*command, "--timeout", f"{_INTERVAL - 1}s")
    async with child(*argv) as process:
        base = f"http://127.0.0.1:{port}"
        await until_ready(base + "/-/ready")
        during = await _while_polling(session, base + "/metrics")
        before, started = cpu_seconds(process.pid), time.perf_counter()
        idle = [await scrape(session, base + "/metrics") for _ in range(_SCRAPES)]
        scrapes_cpu = (cpu_seconds(process.pid) - before) / _SCRAPES
        # Any two intervals contain exactly two polls.
        await asyncio.sleep(max(0.0, 2 * _INTERVAL - (time.perf_counter() - started)))
        polls_cpu = (cpu_seconds(process.pid) - before - scrapes_cpu * _SCRAPES) / 2
        peak = peak_bytes(process.pid)
    first = statistics.median(one.first_byte for one in idle)
    print(f"  {source}: first byte {seconds(first)} when idle, at most "
          f"{seconds(max(one.first_byte for one in during))} over {len(during)} scrapes "
          "through a poll")  # fmt: skip
    wall = statistics.median(one.whole for one in idle)
    return Cost(f"streamgauge, {source}", wall, scrapes_cpu + polls_cpu, peak, idle[0].size)


async def _while_polling(session: aiohttp.ClientSession, url: str) -> list[Scrape]:
    """Scrapes in sequence for one interval, so that they cover a whole poll."""
    ends = time.perf_counter() + _INTERVAL * 1.1
    found = []
    while time.perf_counter() < ends:
        found.append(await scrape(session, url))
        await asyncio.sleep(0.05)
    return found


async def peers(big: BigServer) -> list[Cost | str]:
    """Only the name of one that is not on PATH."""
    async with aiohttp.ClientSession(auto_decompress=False, timeout=_LONGEST) as session:
        return [await _surveyor(session, big), await _nats_exporter(session, big)]


async def _nats_exporter(session: aiohttp.ClientSession, big: BigServer) -> Cost | str:
    name = "prometheus-nats-exporter"
    if shutil.which(name) is None:
        return name
    port = free_port()
    argv = (name, "-a", "127.0.0.1", "-p", str(port), "-jsz=all", big.server.monitor_url)
    return await _peer(session, name, argv, port)


async def _surveyor(session: aiohttp.ClientSession, big: BigServer) -> Cost | str:
    name = "nats-surveyor"
    if shutil.which(name) is None:
        return name
    port = free_port()
    argv = (name, "-a", "127.0.0.1", "-p", str(port), "-s", big.server.url, "--user", "sys",
            "--password", "sys", "--jsz", "all", "--timeout", "60s")  # fmt: skip
    return await _peer(session, name, argv, port)


async def _peer(
    session: aiohttp.ClientSession, name: str, argv: tuple[str, ...], port: int
) -> Cost:
    url = f"http://127.0.0.1:{port}/metrics"
    async with child(*argv) as process:
        await until_ready(url)
        before = cpu_seconds(process.pid)
        found = [await scrape(session, url) for _ in range(_PEER_SCRAPES)]
        cpu = (cpu_seconds(process.pid) - before) / _PEER_SCRAPES
        peak = peak_bytes(process.pid)
    wall = statistics.median(one.whole for one in found)
    return Cost(name, wall, cpu, peak, found[-1].size)
