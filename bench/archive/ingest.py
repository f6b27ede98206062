"""Ingestion rate of the archive, Prometheus and VictoriaMetrics, with the same requests.

The archive responds when the samples are durable; the other two do not wait for the disk.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.archive.receivers import OURS, Receiver, receivers
from bench.archive.remote_write_load import INTERVAL_MS, Load
from bench.process import child, cpu_seconds, free_port, peak_bytes, until_ready
from bench.table import megabytes, show

CONSUMERS: Final = 2_000
REQUESTS: Final = (2_000, 500)  # samples each
ROUNDS: Final = 48  # about a second; results vary more with 12
_TICK: Final = 0.01  # seconds: the resolution of CPU times
_HEAD: Final = (
    "POST {path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/x-protobuf\r\n"
    "Content-Encoding: snappy\r\nX-Prometheus-Remote-Write-Version: 0.1.0\r\n"
    "Content-Length: {size}\r\n\r\n"
)

SUCCESS: Final = (204, 200)

Rounds = list[list[list[bytes]]]


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one run. `first_wall` is that of the round in which all series are new."""

    samples: int
    series: int
    wall: float
    cpu: float
    first_wall: float
    first_cpu: float
    peak: int

    @property
    def rates(self) -> tuple[float, ...]:
        """Samples a second and a CPU second, new series a second and a CPU second."""
        return (self.samples / self.wall, self.samples / self.cpu,
                self.series / self.first_wall, self.series / self.first_cpu)  # fmt: skip


Costs = dict[str, list[Cost]]  # by receiver, a run each


def ratios(costs: Costs, other: str) -> list[float]:
    """Our rates by those of another receiver: the median over pairs of neighbouring runs."""
    pairs = [
        [a / b for a, b in zip(ours.rates, theirs.rates, strict=True)]
        for ours, theirs in zip(costs[OURS.name], costs[other], strict=True)
    ]
    return [statistics.median(column) for column in zip(*pairs, strict=True)]


async def compare(
    loads: Sequence[Load], repeat: int, round_count: int, compared: Sequence[Receiver]
) -> list[tuple[Load, Costs]]:
    """One table per load; every receiver starts with an empty folder."""
    found = []
    for load in loads:
        first_time = (time.time_ns() // 1_000_000) - (round_count + 1) * INTERVAL_MS
        rounds = list(load.rounds(first_time, round_count + 1))
        costs: Costs = {each.name: [] for each in compared}
        for _ in range(repeat):  # interleaved, so that other load affects all receivers
            for each in compared:
                costs[each.name].append(await _measure(each, load, rounds))
        _show(load, costs)
        found.append((load, costs))
    return found


async def _measure(receiver: Receiver, load: Load, rounds: Rounds) -> Cost:
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        async with child(*receiver.command(Path(folder), port)) as process:
            await until_ready(receiver.ready_url(port))
            first_wall, first_cpu = await _timed(process.pid, receiver, port, rounds[:1])
            wall, cpu = await _timed(process.pid, receiver, port, rounds[1:])
            samples = load.series * len(rounds[1:])
            peak = peak_bytes(process.pid)
            return Cost(samples, load.series, wall, cpu, first_wall, first_cpu, peak)


async def _timed(pid: int, receiver: Receiver, port: int, rounds: Rounds) -> tuple[float, float]:
    cpu, started = cpu_seconds(pid), time.perf_counter()
    await send(receiver, port, rounds)
    return time.perf_counter() - started, max(cpu_seconds(pid) - cpu, _TICK)


async def send(receiver: Receiver, port: int, rounds: Rounds) -> None:
    """Each connection sends its own series, one request at a time."""
    queues = [[body for each in rounds for body in each[at]] for at in range(len(rounds[0]))]
    faults: list[str] = []
    threads = [
        threading.Thread(target=_send_all, args=(receiver.path, port, queue, faults))
        for queue in queues
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    if faults:
        raise RuntimeError(f"{receiver.name}: {faults[0]}")


def _send_all(path: str, port: int, bodies: Sequence[bytes], faults: list[str]) -> None:
    with connected(port) as connection:
        for body in bodies:
            fault = post(connection, path, body)
            if fault:
                faults.append(fault)
                return


def connected(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def post(connection: socket.socket, path: str, body: bytes, codes: Sequence[int] = SUCCESS) -> str:
    """The response when it has another status code; otherwise empty."""
    connection.sendall(_HEAD.format(path=path, size=len(body)).encode() + body)
    response = connection.recv(65536)
    fine = response.startswith(tuple(f"HTTP/1.1 {code}".encode() for code in codes))
    return "" if fine else response[:300].decode(errors="replace") or "the connection was closed"


def _show(load: Load, costs: Costs) -> None:
    rows = []
    for name, runs in costs.items():
        medians = [
            statistics.median(column) for column in zip(*(run.rates for run in runs), strict=True)
        ]
        pairs = zip(medians, ratios(costs, name), strict=True)
        cells = [cell for rate, ratio in pairs for cell in (f"{rate / 1000:.0f}", f"{ratio:.2f}")]
        rows.append((name, *cells, megabytes(max(run.peak for run in runs))))
    title = (
        f"ingest: {load.per_request} samples a request, {load.connections} connection(s), "
        f"{load.labels} labels, {load.series:,} series; medians of {len(next(iter(costs.values())))}"
    )
    of = "ours x"
    show(title, ("", "k/s", of, "k/CPU-s", of, "new k/s", of, "new k/CPU-s", of, "peak"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.archive.ingest", description=__doc__)
    parser.add_argument("--consumers", type=int, default=CONSUMERS, help="with 12 series each")
    parser.add_argument("--labels", type=int, nargs="+", default=[8, 20])
    parser.add_argument("--requests", type=int, nargs="+", default=REQUESTS, metavar="SAMPLES")
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--repeat", type=int, default=3, help="runs, of which the median counts")
    parser.add_argument(
        "--only-ours", action="store_true", help="without Prometheus and VictoriaMetrics"
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="samples of each series")
    args = parser.parse_args()
    loads = [
        Load(args.consumers, labels, size, connections)
        for size in args.requests
        for connections in args.connections
        for labels in args.labels
    ]
    compared = [OURS] if args.only_ours else receivers()
    asyncio.run(compare(loads, args.repeat, args.rounds, compared))


if __name__ == "__main__":
    main()
