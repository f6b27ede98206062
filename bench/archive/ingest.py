"""Ingestion rate of the archive, Prometheus and VictoriaMetrics, with the same requests.

The archive responds when the samples are durable; the other two do not wait for the disk.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp

from bench.archive.remote_write_load import INTERVAL_MS, Load
from bench.process import child, cpu_seconds, free_port, peak_bytes, python
from bench.table import megabytes, show
from streamgauge.demo.processes.program_cache import (
    ProgramMissingError,
    cached,
    unpack_debian_packages,
)
from streamgauge.demo.processes.programs import prometheus

CONSUMERS: Final = 2_000
ROUNDS: Final = 48  # about a second; results vary more with 12
MEMORY_CONSUMERS: Final = 20_000
_HEAD: Final = (
    "POST {path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/x-protobuf\r\n"
    "Content-Encoding: snappy\r\nX-Prometheus-Remote-Write-Version: 0.1.0\r\n"
    "Content-Length: {size}\r\n\r\n"
)

SUCCESS: Final = (204, 200)

Rounds = list[list[list[bytes]]]


@dataclass(frozen=True, slots=True)
class Receiver:
    name: str
    command: Callable[[Path, int], Sequence[str]]
    ready: str
    path: str = "/api/v1/write"


@dataclass(frozen=True, slots=True)
class Cost:
    samples: int
    wall: float
    cpu: float
    peak: int
    first_wall: float
    """Of the round in which all series are new."""

    def best(self, other: Cost) -> Cost:
        """The better of two runs: other load on the machine only makes a run slower."""
        wall, cpu = min(self.wall, other.wall), min(self.cpu, other.cpu)
        first_wall = min(self.first_wall, other.first_wall)
        return Cost(self.samples, wall, cpu, max(self.peak, other.peak), first_wall)

    @property
    def rate(self) -> float:
        return self.samples / self.wall

    @property
    def cpu_rate(self) -> float:
        return self.samples / self.cpu


def receivers() -> list[Receiver]:
    found = [OURS]
    programs = prometheus()
    if programs is not None:
        found.append(Receiver("Prometheus", _prometheus_command(programs.prometheus), "/-/ready"))
    try:
        program = victoria_metrics()
    except ProgramMissingError as error:
        print(f"  VictoriaMetrics: {error}")
    else:
        found.append(Receiver("VictoriaMetrics", _victoria_command(program), "/health"))
    return found


async def compare(
    loads: Sequence[Load], repeat: int, round_count: int, *, others: bool = True
) -> None:
    """One table per load; every receiver starts with an empty folder."""
    compared = receivers() if others else [OURS]
    for load in loads:
        first_time = (time.time_ns() // 1_000_000) - (round_count + 1) * INTERVAL_MS
        rounds = list(load.rounds(first_time, round_count + 1))
        costs: dict[str, Cost] = {}
        for _ in range(repeat):  # interleaved, so that other load affects all receivers
            for each in compared:
                cost = await _measure(each, load, rounds)
                costs[each.name] = costs.get(each.name, cost).best(cost)
        _show(load, costs)


async def memory() -> None:
    """Memory of the archive per live series with 20 labels."""
    load = Load(MEMORY_CONSUMERS, 20, 2_000, 1)
    now = time.time_ns() // 1_000_000 - 3 * INTERVAL_MS
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncExitStack() as stack:
            port = free_port()
            process = await stack.enter_async_context(child(*OURS.command(Path(folder), port)))
            await until_ready(OURS, port)
            small = Load(100, 20, 1_200, 1)
            await _send(OURS, port, list(small.rounds(now, 1)))
            before = _resident(process.pid)
            for bodies in load.rounds(now, 2):
                await _send(OURS, port, [bodies])
            grown = _resident(process.pid) - before
    print(f"\n  {load.series:,} live series with 20 labels: {grown / load.series:.0f} bytes each")


async def _measure(receiver: Receiver, load: Load, rounds: Rounds) -> Cost:
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        async with child(*receiver.command(Path(folder), port)) as process:
            await until_ready(receiver, port)
            started = time.perf_counter()
            await _send(receiver, port, rounds[:1])
            first_wall = time.perf_counter() - started
            cpu, started = cpu_seconds(process.pid), time.perf_counter()
            await _send(receiver, port, rounds[1:])
            wall = time.perf_counter() - started
            spent = cpu_seconds(process.pid) - cpu
            samples = load.series * len(rounds[1:])
            return Cost(samples, wall, spent, peak_bytes(process.pid), first_wall)


async def _send(receiver: Receiver, port: int, rounds: Rounds) -> None:
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


def _show(load: Load, costs: dict[str, Cost]) -> None:
    ours = costs["streamgauge"]
    rows = [
        (
            name,
            f"{cost.rate / 1000:.0f}",
            f"{ours.rate / cost.rate:.2f}",
            f"{cost.cpu_rate / 1000:.0f}",
            f"{ours.cpu_rate / cost.cpu_rate:.2f}",
            f"{load.series / cost.first_wall / 1000:.0f}",
            f"{cost.first_wall / ours.first_wall:.2f}",
            megabytes(cost.peak),
        )
        for name, cost in costs.items()
    ]
    title = (
        f"ingest: {load.per_request} samples a request, {load.connections} connection(s), "
        f"{load.labels} labels, {load.series:,} series"
    )
    header = ("", "k/s", "ours x", "k/CPU-s", "ours x", "k new/s", "ours x", "peak")
    show(title, header, rows)


def _ours(folder: Path, port: int) -> Sequence[str]:
    return python("-m", "archive.main", "--data", str(folder / "data"),
                  "--web.listen-address", f"127.0.0.1:{port}", "--log.level", "error")  # fmt: skip


OURS: Final = Receiver("streamgauge", _ours, "/-/ready")


def _prometheus_command(program: Path) -> Callable[[Path, int], Sequence[str]]:
    def command(folder: Path, port: int) -> Sequence[str]:
        config = folder / "prometheus.yml"
        config.write_text("global: {}\n")
        return (str(program), f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
                "--web.enable-remote-write-receiver", "--log.level=error")  # fmt: skip

    return command


def _victoria_command(program: Path) -> Callable[[Path, int], Sequence[str]]:
    def command(folder: Path, port: int) -> Sequence[str]:
        return (str(program), f"-storageDataPath={folder / 'data'}",
                f"-httpListenAddr=127.0.0.1:{port}", "-loggerLevel=ERROR",
                "-retentionPeriod=10y")  # fmt: skip

    return command


def victoria_metrics() -> Path:
    """From PATH, or the Debian package. Raises ProgramMissingError."""
    found = shutil.which("victoria-metrics")
    if found is not None:
        return Path(found)
    return cached("debian-victoria-metrics", _fetch_victoria) / "usr/bin/victoria-metrics"


def _fetch_victoria(into: Path) -> None:
    unpack_debian_packages(("victoria-metrics",), into)


async def until_ready(receiver: Receiver, port: int) -> None:
    url = f"http://127.0.0.1:{port}{receiver.ready}"
    async with aiohttp.ClientSession() as session:
        for _ in range(600):
            try:
                async with session.get(url) as response:
                    if response.status == 200:
                        return
            except aiohttp.ClientError:
                pass  # not listening yet
            await asyncio.sleep(0.1)
    raise RuntimeError(f"{url} never became ready")


def _resident(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    return 0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.archive.ingest", description=__doc__)
    parser.add_argument("--consumers", type=int, default=CONSUMERS, help="with 12 series each")
    parser.add_argument("--labels", type=int, nargs="+", default=[8, 20])
    parser.add_argument("--requests", type=int, nargs="+", default=[2000, 500], metavar="SAMPLES")
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 4])
    parser.add_argument(
        "--repeat", type=int, default=3, help="number of runs, of which the best counts"
    )
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
    asyncio.run(compare(loads, args.repeat, args.rounds, others=not args.only_ours))
    if not args.only_ours:
        asyncio.run(memory())


if __name__ == "__main__":
    main()
