"""Restart of the archive: time until it is ready, and the speed of the first rounds.

After a restart the series caches are empty; slow responses would make senders fall behind.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.archive.ingest import connected, post
from bench.archive.receivers import OURS
from bench.archive.remote_write_load import INTERVAL_MS, METRICS, Load
from bench.process import child, cpu_seconds, free_port, until_ready
from bench.table import seconds, show

SERIES: Final = 1_000_000
Bodies = list[list[bytes]]  # of each connection


@dataclass(frozen=True, slots=True)
class Round:
    """One sample of every series."""

    wall: float
    cpu: float
    responses: Sequence[float]

    def cells(self, name: str, series: int) -> tuple[str, ...]:
        return (
            name,
            seconds(self.wall),
            f"{series / self.wall / 1000:.0f}",
            f"{series / self.cpu / 1000:.0f}",
            seconds(statistics.median(self.responses)),
            seconds(max(self.responses)),
        )


async def measure(load: Load) -> None:
    first_time = time.time_ns() // 1_000_000 - 5 * INTERVAL_MS
    rounds = list(load.rounds(first_time, 4))
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        command = OURS.command(Path(folder), port)
        async with child(*command) as process:
            await until_ready(OURS.ready_url(port))
            measured = [("new series", await _round(process.pid, port, rounds[0]))]
            measured.append(("known series", await _round(process.pid, port, rounds[1])))
            process.kill()
            await process.wait()
        started = time.perf_counter()
        async with child(*command) as process:
            await until_ready(OURS.ready_url(port))
            ready = time.perf_counter() - started
            measured.append(("first after a kill", await _round(process.pid, port, rounds[2])))
            measured.append(("second after a kill", await _round(process.pid, port, rounds[3])))
    title = f"a round of {load.series:,} series, {load.labels} labels, {load.per_request} a request"
    header = ("", "takes", "k/s", "k/CPU-s", "response", "slowest")
    show(title, header, [each.cells(name, load.series) for name, each in measured])
    print(f"  ready to receive {seconds(ready)} after the start")


async def _round(pid: int, port: int, bodies: Bodies) -> Round:
    responses: list[float] = []
    threads = [threading.Thread(target=_send, args=(port, each, responses)) for each in bodies]
    cpu, started = cpu_seconds(pid), time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    wall = time.perf_counter() - started
    if len(responses) < sum(map(len, bodies)):
        raise RuntimeError("the archive refused a request")
    return Round(wall, cpu_seconds(pid) - cpu, responses)


def _send(port: int, bodies: Sequence[bytes], responses: list[float]) -> None:
    with connected(port) as connection:
        for body in bodies:
            began = time.perf_counter()
            if post(connection, OURS.path, body):
                return
            responses.append(time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.archive.restart", description=__doc__)
    parser.add_argument("--series", type=int, default=SERIES)
    parser.add_argument("--labels", type=int, default=20)
    parser.add_argument("--connections", type=int, default=4)
    args = parser.parse_args()
    load = Load(args.series // METRICS, args.labels, 2_000, args.connections)
    asyncio.run(measure(load))


if __name__ == "__main__":
    main()
