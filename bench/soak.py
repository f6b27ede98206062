"""Memory and descriptors of an exporter over a long run in which consumers come and go."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp
import nats
from nats.js.api import ConsumerConfig

from bench.big_server import BigServer, Size, big_server
from bench.population import stream_name
from bench.process import child, cpu_seconds, free_port, peak_bytes, tree_resident_bytes
from bench.scrape_cost import exporter_command, scrape
from bench.table import megabytes, show
from streamgauge.cancellation import cancel

_SOURCES: Final = ("system", "account")
_SCRAPE_SECONDS: Final = 5.0
_ROWS: Final = 10
_LIVING: Final = 200  # of the short-lived ones, at a time: polls see most of them


@dataclass(frozen=True, slots=True)
class Reading:
    minutes: float
    resident: int
    descriptors: int
    scrape: float  # seconds


async def soak(big: BigServer, source: str, minutes: float, interval: str, pause: float) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    address = big.address("sys" if source == "system" else "app")
    argv = exporter_command(address, source, port, interval)
    started, readings = time.monotonic(), list[Reading]()
    async with (
        child(*argv) as process,
        aiohttp.ClientSession(auto_decompress=False) as session,
        _churn(big, pause) as changes,
    ):
        while (passed := (time.monotonic() - started) / 60) < minutes:
            await asyncio.sleep(_SCRAPE_SECONDS)
            try:
                one = await scrape(session, url + "/metrics")
            except aiohttp.ClientConnectorError:
                continue  # it is starting
            page = await scrape(session, url + "/")
            readings.append(_reading(process.pid, passed, max(one.whole, page.whole)))
        cpu, peak = cpu_seconds(process.pid), peak_bytes(process.pid)
    step = max(1, len(readings) // _ROWS)
    rows = [
        (f"{each.minutes:.1f} min", megabytes(each.resident), str(each.descriptors),
         f"{each.scrape * 1000:.0f} ms")
        for each in [*readings[::step], readings[-1]]
    ]  # fmt: skip
    show(f"{source}: {big.size}, {next(changes)} consumers recreated, peak {megabytes(peak)}, "
         f"CPU {cpu / minutes:.1f} s a minute",
         ("after", "resident", "descriptors", "slowest response"), rows)  # fmt: skip


def _reading(pid: int, minutes: float, seconds: float) -> Reading:
    process = Path(f"/proc/{pid}")
    descriptors = sum(1 for _ in (process / "fd").iterdir())
    return Reading(minutes, tree_resident_bytes(pid), descriptors, seconds)


@asynccontextmanager
async def _churn(big: BigServer, pause: float) -> AsyncIterator[itertools.count[int]]:
    """Creates consumers, deletes the oldest, and moves messages all the time; yields the number of changes."""
    changes = itertools.count()
    living = deque[tuple[str, str]]()

    async def change() -> None:
        client = await nats.connect(big.address("app"))
        try:
            js = client.jetstream()
            for number in itertools.cycle(range(big.size.streams)):
                name = f"short-lived-{next(changes)}"
                config = ConsumerConfig(durable_name=name, mem_storage=True)
                await js.add_consumer(stream_name(number), config)
                living.append((stream_name(number), name))
                await js.publish(f"events.{number:05d}.a", b"x")
                if len(living) > _LIVING:
                    await js.delete_consumer(*living.popleft())
                await asyncio.sleep(pause)
        finally:
            await client.close()

    task = asyncio.create_task(change())
    try:
        yield changes
    finally:
        await cancel([task])
        if not task.cancelled():
            task.result()


async def _measure(words: argparse.Namespace) -> None:
    async with big_server(Size(words.streams, words.consumers)) as big:
        for source in words.source:
            await soak(big, source, words.minutes, words.interval, words.pause)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--consumers", type=int, default=10, help="on each stream")
    parser.add_argument("--interval", default="5s")
    parser.add_argument("--source", nargs="+", default=list(_SOURCES), choices=_SOURCES)
    parser.add_argument("--pause", type=float, default=0.05, help="seconds between two changes")
    asyncio.run(_measure(parser.parse_args()))


if __name__ == "__main__":
    main()
