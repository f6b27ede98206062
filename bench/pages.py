"""What the status pages cost with many consumers: first byte, CPU, size, and delay of the event loop.

A synthetic snapshot in the exporter's own HTTP server, one consumer in a hundred unwell. The history of
these is filled to two hours."""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import aiohttp
from aiohttp import web
from msgspec.structs import replace

from bench.table import megabytes, seconds, show
from exporter.model import NO_THRESHOLDS, Consumer, ConsumerConfig, Outcome, Snapshot, Stream
from exporter.polling.history import MAX_POINTS, SPACING_SECONDS, History
from exporter.polling.state import SystemState
from exporter.polling.supervisor import Supervisor
from exporter.samples.render import Rendered
from exporter.settings.config import ExporterSettings
from exporter.signals.conditions.words import Condition
from exporter.signals.results import ConsumerSignals, Signals
from exporter.web import make_app

_PER_STREAM = 10
_UNWELL = 100  # one in so many
_TICK = 0.002
_CONFIG = ConsumerConfig(
    durable=True, kind="pull", ack_policy="explicit", deliver_policy="all", replay_policy="instant",
    filters=(), priority_policy="none", flow_control=False, internal=False, replicas=1,
    ack_wait_seconds=30.0, max_deliver=5, max_ack_pending=1000, max_waiting=512,
    backoff_seconds=(), thresholds=NO_THRESHOLDS,
)  # fmt: skip
_PATHS = {
    "overview": "/",
    "/api/unwell": "/api/unwell",
    "consumers, gravest first": "/consumers",
    "consumers by lag, page 500": "/consumers?sort=-lag&page=500",
    "consumers by state": "/consumers?sort=state",
    "search that finds one": "/consumers?q=stream-00042",
    "search that finds all": "/consumers?q=worker&sort=-pending",
    "streams": "/streams",
    "one consumer": "/consumer?system=bench&account=APP&stream=stream-00000&consumer=worker-00",
    "one stream": "/stream?system=bench&account=APP&stream=stream-00000",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench pages", description=__doc__)
    parser.add_argument("--consumers", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    for number in given.consumers:
        asyncio.run(_measure(number, given.rounds))


async def _measure(number: int, rounds: int) -> None:
    poller, history_bytes = _poller(number)
    settings = ExporterSettings()
    supervisor = SimpleNamespace(pollers=[poller], settings=settings, reload_ok=True)
    runner = web.AppRunner(make_app(cast("Supervisor", supervisor), "bench"))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    base = f"http://127.0.0.1:{runner.addresses[0][1]}"
    async with aiohttp.ClientSession() as client:
        rows = [[name, *await _page(client, base + path, rounds)] for name, path in _PATHS.items()]
    await runner.cleanup()
    header = ("page", "first byte", "slowest", "CPU", "loop held", "size")
    title = f"status pages with {number:,} consumers; medians of {rounds}"
    show(f"{title}; history of {number // _UNWELL:,}: {megabytes(history_bytes)}", header, rows)


async def _page(client: aiohttp.ClientSession, url: str, rounds: int) -> list[str]:
    first, cpu, held, size = [], [], [], 0
    for _ in range(rounds):
        ticker = asyncio.create_task(_longest_gap())
        await asyncio.sleep(5 * _TICK)
        began, used = time.perf_counter(), time.process_time()
        async with client.get(url) as response:
            response.raise_for_status()
            first.append(time.perf_counter() - began)
            size = len(await response.read())
        cpu.append(time.process_time() - used)
        ticker.cancel()
        held.append(await ticker)
    return [
        seconds(statistics.median(first)), seconds(max(first)), seconds(statistics.median(cpu)),
        seconds(statistics.median(held)), f"{size / 1024:.0f} KiB",
    ]  # fmt: skip


async def _longest_gap() -> float:
    """How long other tasks of the exporter, such as a scrape, had to wait."""
    longest = 0.0
    try:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(_TICK)
            longest = max(longest, time.perf_counter() - began - _TICK)
    except asyncio.CancelledError:
        return longest


def _poller(number: int) -> tuple[Any, int]:
    now = time.time()
    consumers = tuple(_consumers(number, now))
    streams = tuple(
        Stream("APP", f"stream-{place:05d}", True, "", "n1", "", None, messages=place)
        for place in range(max(1, number // _PER_STREAM))
    )
    signals = Signals(consumers=dict(_signals(consumers, now)))
    snapshot = Snapshot("bench", now, streams, consumers, outcomes=(Outcome("jsz", True, 0.1),))
    # Far from stale, so that a long measurement sees the same pages.
    state = SystemState(86400.0).with_outcomes(snapshot, now)
    state = state.succeeded(snapshot, Rendered((), 0, 0, 0), signals)
    history, used = _filled_history(snapshot, signals, now)
    return SimpleNamespace(
        state=state, system="bench", source_name="system", targets=("nats://bench",), history=history
    ), used  # fmt: skip


def _consumers(number: int, now: float) -> Iterator[Consumer]:
    then = datetime.fromtimestamp(now - 60, UTC)
    for place in range(number):
        stream, worker = divmod(place, _PER_STREAM)
        yield Consumer(
            "APP", f"stream-{stream:05d}", f"worker-{worker:02d}", True, "", "n1", _CONFIG,
            num_pending=place * 7919 % 1000, num_ack_pending=place % 50, last_delivery=then,
            delivered_consumer_seq=place,
        )  # fmt: skip


def _signals(
    consumers: tuple[Consumer, ...], now: float
) -> Iterator[tuple[tuple[str, str, str], ConsumerSignals]]:
    words = tuple(Condition)
    for place, row in enumerate(consumers):
        unwell = place % _UNWELL == 0
        chosen = (words[place // _UNWELL % len(words)], Condition.FALLING_BEHIND) if unwell else ()
        held = tuple((word, now - place % 3600) for word in dict.fromkeys(chosen))
        yield (
            (row.account, row.stream, row.name),
            ConsumerSignals(0, 0, 0, 0, now, lag=float(place % 900), conditions=held),
        )


def _filled_history(snapshot: Snapshot, signals: Signals, now: float) -> tuple[History, int]:
    unwell = {key for key, one in signals.consumers.items() if one.conditions}
    few = tuple(r for r in snapshot.consumers if (r.account, r.stream, r.name) in unwell)
    history = History()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for step in range(MAX_POINTS):
        taken = now - (MAX_POINTS - step) * SPACING_SECONDS
        history.update(replace(snapshot, taken=taken, consumers=few, streams=()), signals)
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return history, used


if __name__ == "__main__":
    main()
