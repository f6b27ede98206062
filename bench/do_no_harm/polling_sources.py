"""Effect of polling on publishers: ack latency while a source polls, and without polls.

One run per source; windows that start with a poll alternate with windows without. The result is
the median of the slowest publish per window, as a single maximum is noise of the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from bench.big_server import BigServer
from bench.do_no_harm.publisher import Latency, Published, Span, make_probe, publishing
from bench.process import ROOT, python
from bench.table import show
from exporter.main import GC_THRESHOLDS
from exporter.polling.wiring import make_poller
from exporter.settings.config import ExporterSettings, SystemSettings

# Polls three times as often as by default: more windows, and no easier goal.
WINDOW_SECONDS = 5.0
ROUNDS = 12
ALLOWED_SECONDS = 0.020
_NOTHING = "nothing"  # the noise of the machine: windows without any poll

Poll = Callable[[], Awaitable[object]]


async def compare(big: BigServer) -> None:
    await make_probe(big.address("app"))
    addresses = {
        _NOTHING: "",
        "system": big.address("sys"),
        "monitor": big.server.monitor_url,
        "account": big.address("app"),
    }
    rows, added = [], {}
    for source, url in addresses.items():
        print(f"  {source}: {2 * ROUNDS + 1} windows of {WINDOW_SECONDS:.0f} s", file=sys.stderr)
        quiet, first, later = await _measure(big, source, url)
        rows.append(_row(source, quiet, later))
        added[source] = later.typical_worst - quiet.typical_worst
        if source != _NOTHING:
            rows.append(_row("  its first poll", quiet, first))
    header = ("polled by", *(("p50", "p99", "max", "slowest") * 2), "adds")
    show(
        f"publish acks in ms ({big.size}), without | with a poll every "
        f"{WINDOW_SECONDS:.0f} s\n  over all publishes of {ROUNDS} windows each; slowest: "
        "the median of the windows' own",
        header,
        rows,
    )
    goal = f"goal: no source adds more than {ALLOWED_SECONDS * 1000:.0f} ms to the slowest"
    print(f"  {goal}:\n  {_judged(added)}")


@dataclass(frozen=True, slots=True)
class _Effect:
    """Ack latency of the publishers in some windows."""

    latency: Latency
    typical_worst: float

    def milliseconds(self) -> tuple[str, ...]:
        return (*self.latency.milliseconds(), f"{self.typical_worst * 1000:.1f}")


def _judged(added: dict[str, float]) -> str:
    noise = abs(added[_NOTHING])
    if noise > ALLOWED_SECONDS:
        return f"unknown: without any poll the windows differ by {noise * 1000:.0f} ms"
    missed = [source for source, more in added.items() if more > ALLOWED_SECONDS]
    return f"missed by {', '.join(missed)}" if missed else "met"


def _row(name: str, quiet: _Effect, polled: _Effect) -> tuple[str, ...]:
    added = f"{(polled.typical_worst - quiet.typical_worst) * 1000:.1f}"
    return (name, *quiet.milliseconds(), *polled.milliseconds(), added)


async def _measure(big: BigServer, source: str, url: str) -> tuple[_Effect, _Effect, _Effect]:
    """Windows without polls, with the first poll (it fetches all configuration), with later ones."""
    async with publishing(big.address("app")) as published, _poller(source, url) as poll:
        first = await _window(poll)
        without: list[Span] = []
        polled: list[Span] = []
        for _ in range(ROUNDS):
            without.append(await _window(_idle))
            polled.append(await _window(poll))
    return _effect(published, without), _effect(published, [first]), _effect(published, polled)


def _effect(published: Published, spans: list[Span]) -> _Effect:
    return _Effect(published.within(spans), statistics.median(published.worst_of_each(spans)))


async def _window(act: Poll) -> Span:
    started = time.monotonic()
    await act()
    await asyncio.sleep(max(0.0, started + WINDOW_SECONDS - time.monotonic()))
    return started, time.monotonic()


async def _idle() -> None:
    return


@contextlib.asynccontextmanager
async def _poller(source: str, url: str) -> AsyncIterator[Poll]:
    """An exporter in its own process that polls when a line arrives on its stdin."""
    if source == _NOTHING:
        yield _idle
        return
    argv = python("-m", "bench.do_no_harm.polling_sources", "--poll", source, url)
    process = await asyncio.create_subprocess_exec(
        *argv, stdout=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.PIPE, cwd=ROOT
    )
    stdin, stdout = process.stdin, process.stdout
    if stdin is None or stdout is None:
        raise RuntimeError("the poller has no pipes")

    async def poll() -> None:
        stdin.write(b"poll\n")
        if (response := (await stdout.readline()).strip()) != b"complete":
            raise RuntimeError(f"{source}: a poll was not complete {response!r}")

    try:
        yield poll
    finally:
        stdin.close()
        await process.wait()


async def _poll_on_request(source: str, url: str) -> None:
    gc.set_threshold(*GC_THRESHOLDS)
    system = SystemSettings(name="bench", source=source, urls=(url,))  # type: ignore[arg-type]
    poller = make_poller(ExporterSettings(systems=(system,), timeout=60.0), system)
    while await asyncio.to_thread(sys.stdin.readline):
        await poller.poll_once()
        print("complete" if poller.state.complete else "not complete", flush=True)
    await poller.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--poll", nargs=2, required=True)
    asyncio.run(_poll_on_request(*parser.parse_args().poll))
