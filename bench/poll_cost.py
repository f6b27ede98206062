"""Cost of a poll relative to the bare request: requested, decoded and rendered against fetched.

The goal excludes signals; their cost has its own column. Each source runs in its own process
(`python -m bench.poll_cost --one ...`).
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import statistics
import sys
import time
from typing import NamedTuple

from bench.big_server import BigServer
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


async def compare(big: BigServer) -> None:
    addresses = {
        "system": big.address("sys"),
        "monitor": big.server.monitor_url,
        "account": big.address("app"),
    }
    results = {name: await _one(name, url, big.address("sys")) for name, url in addresses.items()}
    rows = [
        (
            name,
            seconds(result["raw"]),
            seconds(result["plain"]),
            f"{result['plain'] / result['raw']:.1f}",
            seconds(result["poll"]),
            f"{result['poll'] / result['raw']:.1f}",
            seconds(result["cpu"]),
            f"{int(result['series']):,}",
            megabytes(result["peak"]),
        )
        for name, result in results.items()
    ]
    header = ("source", "bare", "plain", "ratio", "whole", "ratio", "CPU", "series", "peak")
    title = f"a poll beside the bare JSZ request ({big.size}); medians"
    show(f"{title}\n  plain: requested, decoded, rendered; whole: with signals", header, rows)


async def _one(source: str, url: str, sys_url: str) -> dict[str, float]:
    argv = python("-m", "bench.poll_cost", "--one", source, url, sys_url)
    process = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE, cwd=ROOT)
    out, _ = await process.communicate()
    result: dict[str, float] = json.loads(out)
    return result


async def _measure(source_name: str, url: str, sys_url: str) -> dict[str, float]:
    gc.set_threshold(*GC_THRESHOLDS)
    raw = await _bare(sys_url)
    settings = SystemSettings(name="bench", source=source_name, urls=(url,))  # type: ignore[arg-type]
    source, pipeline = make_source(settings), Pipeline(Renderer("bench"))
    plain = Renderer("bench")
    polls = [await _poll(source, pipeline, plain) for _ in range(_FIRST_POLLS + ROUNDS)]
    await source.close()
    steady = polls[_FIRST_POLLS:]
    return {
        "raw": raw, "peak": peak_bytes(os.getpid()),
        "plain": statistics.median(one.fetched + one.rendered for one in steady),
        "poll": statistics.median(one.fetched + one.processed for one in steady),
        "cpu": statistics.median(one.cpu for one in steady), "series": steady[-1].series,
    }  # fmt: skip


class _Poll(NamedTuple):
    fetched: float
    rendered: float  # without signals
    processed: float  # with signals
    cpu: float  # of the requests and the pipeline
    series: int


async def _poll(source: Source, pipeline: Pipeline, plain: Renderer) -> _Poll:
    began, cpu = time.perf_counter(), time.process_time()
    snapshot = await source.poll(time.monotonic() + 120)
    fetched = time.perf_counter()
    if not snapshot.complete:
        raise RuntimeError(f"the poll was not complete: {snapshot.outcomes}")
    made = await asyncio.to_thread(pipeline.process, snapshot, PollExtras())
    processed, cpu = time.perf_counter(), time.process_time() - cpu
    await asyncio.to_thread(plain.render, snapshot)
    rendered = time.perf_counter()
    return _Poll(
        fetched - began, rendered - processed, processed - fetched, cpu, made.rendered.series
    )


async def _bare(sys_url: str) -> float:
    connection = NatsConnection(NatsAccess((sys_url,)), "bench")
    await connection.open()
    walls = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        replies = await connection.gather(
            JSZ,
            JszRequest(limit=1024).payload(),
            enough=_has_one,
            quiet=60,
            timeout=60,
            headers={"Accept-Encoding": "gzip"},
        )
        _read_jsz(replies, 2**32)
        walls.append(time.perf_counter() - began)
    await connection.close()
    return statistics.median(walls)


def _has_one(replies: list[Reply]) -> bool:
    return bool(replies)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--one", nargs=3, required=True)
    json.dump(asyncio.run(_measure(*parser.parse_args().one)), sys.stdout)
