"""Cost of a poll relative to the bare request: the whole of it against a JSZ that is only decoded.

Each source runs in its own process (`python -m bench.poll_cost --one ...`), which moves some of the
consumers before each pair of a bare request and a poll. CPU times are those of that process, so
without the server.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec

from bench.big_server import BigServer
from bench.movement import Movement, share_of
from bench.process import ROOT, peak_bytes, python
from bench.table import megabytes, seconds, show
from exporter.main import GC_THRESHOLDS
from exporter.polling.pipeline import Pipeline, PollExtras
from exporter.polling.wiring import make_source
from exporter.samples.render import Renderer
from exporter.settings.config import SystemSettings
from exporter.sources.servers.jsz_pages import JszRequest
from exporter.sources.source import Source
from exporter.sources.system import _read_jsz
from exporter.sources.transport.connection import NatsConnection, Reply
from exporter.sources.transport.credentials import NatsAccess

ROUNDS = 5
# The first connects, fetches configuration and renders labels; after two more the poller knows
# which consumers are unchanged.
_FIRST_POLLS = 3
JSZ = "$SYS.REQ.SERVER.PING.JSZ"
MOVES = (0.0, 0.01, 1.0)  # shares of the consumers


class Spent(msgspec.Struct, frozen=True):
    """Seconds, medians."""

    wall: float
    cpu: float


class Found(msgspec.Struct, frozen=True):
    """Of one source."""

    bares: list[Spent]  # by share that moves, as polls
    polls: list[Spent]
    series: int
    peak: int

    def rows(self, source: str) -> list[tuple[str, ...]]:
        return [
            (
                source, f"{share:.0%}",
                seconds(bare.wall), seconds(one.wall), f"{one.wall / bare.wall:.1f}",
                seconds(bare.cpu), seconds(one.cpu), f"{one.cpu / bare.cpu:.1f}",
                megabytes(self.peak),
            )
            for share, bare, one in zip(MOVES, self.bares, self.polls, strict=True)
        ]  # fmt: skip


async def compare(big: BigServer) -> None:
    addresses = {
        "system": big.address("sys"),
        "monitor": big.server.monitor_url,
        "account": big.address("app"),
    }
    found = {name: await _one(name, url, big) for name, url in addresses.items()}
    rows = [row for name, one in found.items() for row in one.rows(name)]
    header = ("source", "moves", "bare", "poll", "ratio", "CPU: bare", "poll", "ratio", "peak")
    series = max(one.series for one in found.values())
    show(
        f"a whole poll beside the bare JSZ request ({big.size}, {series:,} series)\n"
        f"  medians of {ROUNDS}; goal: 2.5 when 1% moves, 5 when all move",
        header,
        rows,
    )


async def _one(source: str, url: str, big: BigServer) -> Found:
    given = (source, url, big.address("sys"), big.address("app"))
    size = (str(big.size.streams), str(big.size.consumers_each))
    argv = python("-m", "bench.poll_cost", "--one", *given, *size)
    process = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE, cwd=ROOT)
    out, _ = await process.communicate()
    return msgspec.json.decode(out, type=Found)


async def _measure(given: list[str]) -> Found:
    source_name, url, sys_url, app_url, streams, each = given
    gc.set_threshold(*GC_THRESHOLDS)
    settings = SystemSettings(name="bench", source=source_name, urls=(url,))  # type: ignore[arg-type]
    source, pipeline = make_source(settings), Pipeline(Renderer("bench"))
    series, bares, polls = 0, [], []

    async def poll() -> None:
        nonlocal series
        series = await _poll(source, pipeline)

    async with Movement.by(app_url, int(each)) as movement, _bare(sys_url) as bare:
        for share in MOVES:
            chosen = share_of(int(streams), share)
            without, spent = [], []
            for _ in range(_FIRST_POLLS + ROUNDS):
                await movement.move(chosen)
                without.append(await _timed(bare))
                spent.append(await _timed(poll))
            bares.append(_median(without[_FIRST_POLLS:]))
            polls.append(_median(spent[_FIRST_POLLS:]))
    await source.close()
    return Found(bares, polls, series, peak_bytes(os.getpid()))


async def _poll(source: Source, pipeline: Pipeline) -> int:
    snapshot = await source.poll(time.monotonic() + 120)
    if not snapshot.complete:
        raise RuntimeError(f"the poll was not complete: {snapshot.outcomes}")
    made = await asyncio.to_thread(pipeline.process, snapshot, PollExtras())
    return made.rendered.series


async def _timed(act: Callable[[], Awaitable[None]]) -> Spent:
    began, cpu = time.perf_counter(), time.process_time()
    await act()
    return Spent(time.perf_counter() - began, time.process_time() - cpu)


def _median(spent: list[Spent]) -> Spent:
    return Spent(
        statistics.median(one.wall for one in spent), statistics.median(one.cpu for one in spent)
    )


@asynccontextmanager
async def _bare(sys_url: str) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    connection = NatsConnection(NatsAccess((sys_url,)), "bench")
    await connection.open()

    async def request() -> None:
        replies = await connection.gather(
            JSZ,
            JszRequest(limit=1024).payload(),
            enough=_has_one,
            quiet=60,
            timeout=60,
            headers={"Accept-Encoding": "gzip"},
        )
        _read_jsz(replies, 2**32)

    try:
        yield request
    finally:
        await connection.close()


def _has_one(replies: list[Reply]) -> bool:
    return bool(replies)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--one", nargs=6, required=True)
    found = asyncio.run(_measure(parser.parse_args().one))
    sys.stdout.buffer.write(msgspec.json.encode(found))
