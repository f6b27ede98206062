"""Memory, polls and scrapes of an exporter while a client invents ack samples."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import time
from dataclasses import dataclass
from typing import Final

import aiohttp
import nats
from nats.aio.client import Client

from bench.big_server import BigServer, Size, big_server
from bench.process import child, free_port, peak_bytes, tree_resident_bytes
from bench.scrape_cost import exporter_command
from bench.table import megabytes, show

_BATCH: Final = 500
_SUBJECT: Final = "$JS.EVENT.METRIC.CONSUMER.ACK.FORGED"


@dataclass(frozen=True, slots=True)
class Reading:
    sent: int
    resident: int
    poll: float  # seconds
    scrape: float
    dropped: int


async def flood(big: BigServer, samples: int, rate: int, interval: str) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/metrics"
    argv = exporter_command(big.address("app"), "account", port, interval)
    async with child(*argv) as process, aiohttp.ClientSession() as session:
        readings = [await _first(session, url, process.pid)]
        client = await nats.connect(big.address("app"))
        sending = asyncio.create_task(_send(client, samples, rate))
        while not sending.done():
            await asyncio.wait({sending}, timeout=1.0)
            sent = min(samples, client.stats["out_msgs"])
            readings.append(await _read(session, url, process.pid, sent))
        await client.close()
        peak = peak_bytes(process.pid)
    step = max(1, len(readings) // 8)
    rows = [
        (f"{each.sent:,}", megabytes(each.resident), f"{each.poll * 1000:.0f} ms",
         f"{each.scrape * 1000:.0f} ms", f"{each.dropped:,}")
        for each in [*readings[::step], readings[-1]]
    ]  # fmt: skip
    slowest = max(each.scrape for each in readings), max(each.poll for each in readings)
    show(f"{samples:,} invented samples, {big.size}, peak {megabytes(peak)}, slowest scrape "
         f"{slowest[0] * 1000:.0f} ms, slowest poll {slowest[1] * 1000:.0f} ms",
         ("sent", "resident", "last poll", "scrape", "dropped"), rows)  # fmt: skip


async def _send(client: Client, samples: int, rate: int) -> None:
    """Each of another consumer, at most `rate` a second."""
    started = time.monotonic()
    for number in range(samples):
        sample = {"stream": "FORGED", "consumer": f"c{number}", "ack_time": 1_000_000}
        await client.publish(f"{_SUBJECT}.c{number}", json.dumps(sample).encode())
        if number % _BATCH == 0:
            await client.flush()
            await asyncio.sleep(max(0.0, started + number / rate - time.monotonic()))
    await client.flush()


async def _first(session: aiohttp.ClientSession, url: str, pid: int) -> Reading:
    """After the first poll."""
    while True:
        try:
            found = await _read(session, url, pid, 0)
        except aiohttp.ClientConnectorError:
            found = None
        if found is not None and found.poll:
            return found
        await asyncio.sleep(0.5)


async def _read(session: aiohttp.ClientSession, url: str, pid: int, sent: int) -> Reading:
    started = time.perf_counter()
    async with session.get(url) as response:
        text = await response.text()
    return Reading(
        sent,
        tree_resident_bytes(pid),
        _value(text, "streamgauge_poll_duration_seconds"),
        time.perf_counter() - started,
        int(_value(text, "streamgauge_events_dropped_total")),
    )


def _value(text: str, name: str) -> float:
    found = re.search(rf"^{name}{{[^}}]*}} (\S+)", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


async def _measure(words: argparse.Namespace) -> None:
    async with big_server(Size(words.streams, words.consumers)) as big:
        await flood(big, words.samples, words.rate, words.interval)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench forged", description=__doc__)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--rate", type=int, default=20_000, help="samples a second, at most")
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--consumers", type=int, default=10, help="on each stream")
    parser.add_argument("--interval", default="5s")
    asyncio.run(_measure(parser.parse_args()))


if __name__ == "__main__":
    main()
