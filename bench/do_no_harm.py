"""What a question does to publishers: their acks' latency with the question and without it.

A publisher in a process of its own sends as fast as a steady clock says; this one asks.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import struct
import sys
import time
from collections.abc import Awaitable, Callable
from urllib.parse import urlencode

import aiohttp
import nats

from bench.big_server import BigServer
from bench.process import ROOT, python
from bench.table import show
from exporter.sources.account_api import AccountApi
from exporter.sources.asking import Asking, LeftOut
from exporter.sources.connection import NatsLink, Reply
from exporter.sources.credentials import NatsAccess
from exporter.sources.jsz_pages import JszQuestion
from exporter.sources.subsz_wire import SubszQuestion
from exporter.sources.system import PING

_STREAMS = JszQuestion(config=True, limit=1024, consumers=False).payload()
RATE = 400  # publishes a second
ROUNDS = 12
WINDOW_SECONDS = 0.8
_STREAM, _SUBJECT = "probe", "probe"
_SAMPLE = struct.Struct("dd")  # when it was sent, how long its ack took
Question = Callable[[], Awaitable[object]]
_ALLOWED_MS = 20.0


async def compare(big: BigServer) -> None:
    system, account = NatsLink(NatsAccess((big.address("sys"),)), "bench"), NatsLink(
        NatsAccess((big.address("app"),)), "bench")  # fmt: skip
    await system.open()
    await account.open()
    await _make_probe(big.address("app"))
    async with aiohttp.ClientSession() as session:
        questions = _questions(big, system, account, session)
        rows = []
        for name, question in questions.items():
            samples, asked = await _round_trips(big, question)
            rows.append(_row(name, samples, asked))
    await system.close()
    await account.close()
    header = ("question", "p50", "p99", "max", "p50", "p99", "max", "adds")
    show(
        f"publish acks in ms ({big.size}), without | with the question; medians of "
        f"{ROUNDS} windows\n  `adds` over {_ALLOWED_MS:.0f} would be too much",
        header,
        rows,
    )


def _questions(
    big: BigServer, system: NatsLink, account: NatsLink, session: aiohttp.ClientSession
) -> dict[str, Question]:
    monitor = big.server.monitor_url
    jsz = f"{monitor}/jsz?accounts=1&streams=1&consumers=1"
    api = AccountApi(account)
    number, rows = SubszQuestion("APP"), SubszQuestion("APP", rows=True)
    return {
        "nothing": _nothing,
        "statsz": lambda: _ping(system, "STATSZ"),
        "healthz": lambda: _ping(system, "HEALTHZ"),
        "jsz": lambda: _ping(system, "JSZ", JszQuestion(limit=1024).payload()),
        "jsz_config": lambda: _ping(system, "JSZ", JszQuestion(config=True, limit=1024).payload()),
        "jsz streams": lambda: _ping(system, "JSZ", _STREAMS),
        "subsz number": lambda: _ping(system, "SUBSZ", number.payload()),
        "subsz rows": lambda: _ping(system, "SUBSZ", rows.payload()),
        "http subsz rows": lambda: _fetch(session, f"{monitor}/subsz?{urlencode(rows.query())}"),
        "http jsz": lambda: _fetch(session, jsz),
        "http jsz_config": lambda: _fetch(session, jsz + "&config=1"),
        "http healthz": lambda: _fetch(session, f"{monitor}/healthz"),
        "stream_list": lambda: _stream_list(api),
        "consumer_list x12": lambda: _consumer_lists(api),
    }


async def _nothing() -> None:
    return


async def _ping(link: NatsLink, what: str, payload: bytes = b"") -> None:
    def has_one(replies: list[Reply]) -> bool:
        return bool(replies)

    await link.gather(
        f"{PING}.{what}", payload, enough=has_one, quiet=30, timeout=30,
        headers={"Accept-Encoding": "gzip"},
    )  # fmt: skip


async def _fetch(session: aiohttp.ClientSession, url: str) -> None:
    async with session.get(url) as response:
        async for _ in response.content.iter_any():
            pass


def _asking() -> Asking:
    return Asking(time.monotonic() + 60, LeftOut())


async def _stream_list(api: AccountApi) -> list[str]:
    names = []
    async for page in api.stream_pages(_asking()):
        names += [stream.config.name for stream in page.streams or () if stream.config]
    return names


async def _consumer_lists(api: AccountApi) -> None:
    waiting = iter(await _stream_list(api))

    async def worker() -> None:
        for name in waiting:
            async for _ in api.consumer_pages(name, _asking()):
                pass

    await asyncio.gather(*(worker() for _ in range(12)))


async def _round_trips(
    big: BigServer, question: Question
) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """All samples of the publisher, and the windows in which the question was under way."""
    argv = python("-m", "bench.do_no_harm", "--publish", big.address("app"))
    publisher = await asyncio.create_subprocess_exec(
        *argv, stdout=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.PIPE, cwd=ROOT
    )
    asked = []
    await asyncio.sleep(1.0)
    for _ in range(ROUNDS):
        await asyncio.sleep(WINDOW_SECONDS)
        started = time.monotonic()
        await question()
        asked.append((started, max(time.monotonic(), started + WINDOW_SECONDS)))
        await asyncio.sleep(max(0.0, WINDOW_SECONDS - (time.monotonic() - started)))
    out, _ = await publisher.communicate(b"stop\n")
    return list(_SAMPLE.iter_unpack(out)), asked


def _row(
    name: str, samples: list[tuple[float, float]], asked: list[tuple[float, float]]
) -> tuple[str, ...]:
    quiet, busy = [], []
    for first, last in asked:
        busy.append(sorted(took for sent, took in samples if first <= sent < last))
        quiet.append(
            sorted(took for sent, took in samples if first - WINDOW_SECONDS <= sent < first)
        )
    without, having = _figures(quiet), _figures(busy)
    added = having[2] - without[2]
    cells = [f"{value * 1000:.1f}" for value in (*without, *having, added)]
    return (name, *cells)


def _figures(windows: list[list[float]]) -> tuple[float, float, float]:
    full = [window for window in windows if window]
    return (
        statistics.median(window[len(window) // 2] for window in full),
        statistics.median(window[len(window) * 99 // 100] for window in full),
        statistics.median(window[-1] for window in full),
    )


async def _make_probe(url: str) -> None:
    client = await nats.connect(url)
    await client.jetstream().add_stream(
        name=_STREAM, subjects=[_SUBJECT], storage="memory", max_msgs=1000
    )
    await client.close()


async def _publish(url: str) -> None:
    """Until a line comes in: one publish per tick, its latency kept in memory until the end."""
    client = await nats.connect(url)
    samples: list[tuple[float, float]] = []
    tasks: set[asyncio.Task[None]] = set()

    async def one() -> None:
        sent = time.monotonic()
        await client.request(_SUBJECT, b"x" * 100, timeout=30)
        samples.append((sent, time.monotonic() - sent))

    stop = asyncio.create_task(asyncio.to_thread(sys.stdin.readline))
    tick = time.monotonic()
    while not stop.done():
        task = asyncio.create_task(one())
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        tick += 1 / RATE
        await asyncio.sleep(max(0.0, tick - time.monotonic()))
    await asyncio.gather(*tasks)
    await client.close()
    sys.stdout.buffer.write(b"".join(_SAMPLE.pack(*sample) for sample in samples))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--publish", required=True)
    asyncio.run(_publish(parser.parse_args().publish))
