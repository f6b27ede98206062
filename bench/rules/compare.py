"""What the alert rules and the boards cost Prometheus: all rules once, every board query once.

A real Prometheus gets synthetic series by remote write; one consumer in a hundred is unwell. Every
series has half an hour; what boards draw over hours has all of them. CPU time is that of the
Prometheus process."""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import aiohttp

from bench.process import child, cpu_seconds, free_port, peak_bytes, until_ready
from bench.rules.population import series
from bench.rules.queries import BenchQuery, board_queries, names_in, rule_queries
from bench.rules.remote_write import requests
from bench.table import megabytes, seconds, show
from streamgauge.demo.processes.program_cache import ProgramMissingError
from streamgauge.demo.processes.programs import prometheus

_DEAREST = 10


class Cost(NamedTuple):
    cpu: float
    wall: float
    samples: int  # held at once
    name: str
    touched: int  # over all steps


@asynccontextmanager
async def _running(folder: Path) -> AsyncIterator[tuple[int, str]]:
    programs = await asyncio.to_thread(prometheus)
    if programs is None:
        raise ProgramMissingError("prometheus: not available")
    config, port = folder / "prometheus.yml", free_port()
    config.write_text("global: {scrape_interval: 15s}\n")
    address = f"http://127.0.0.1:{port}"
    async with child(
        str(programs.prometheus), f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
        f"--web.listen-address=127.0.0.1:{port}", "--web.enable-remote-write-receiver",
        "--query.max-samples=500000000", "--query.timeout=10m",
    ) as process:  # fmt: skip
        await until_ready(f"{address}/-/ready")
        yield process.pid, address


async def _fill(session: aiohttp.ClientSession, address: str, bodies: Iterable[bytes]) -> None:
    headers = {"Content-Encoding": "snappy", "Content-Type": "application/x-protobuf"}
    for body in bodies:
        async with session.post(f"{address}/api/v1/write", data=body, headers=headers) as response:
            if response.status >= 300:
                raise RuntimeError(f"remote write: {response.status} {await response.text()}")


async def measure(
    session: aiohttp.ClientSession,
    pid: int,
    address: str,
    queries: list[BenchQuery],
    hours: float,
    now: float,
) -> list[Cost]:
    """At the time `now`, the dearest first."""
    found = []
    for name, text, step in queries:
        path, sent = "query", {"query": text, "time": str(now), "stats": "all"}
        if step is not None:
            path = "query_range"
            sent |= {"start": str(now - hours * 3600), "end": str(now), "step": str(step)}
        before, began = cpu_seconds(pid), time.perf_counter()
        async with session.post(f"{address}/api/v1/{path}", data=sent) as response:
            body = await response.read()
            if response.status != 200:
                raise RuntimeError(f"{name}: {body[:300]!r}")
        wall, cpu = time.perf_counter() - began, cpu_seconds(pid) - before
        # --query.max-samples limits those held at once. The total counts what is fixed to the end of
        # the range again at each step, although it is read once.
        samples = json.loads(body)["data"]["stats"]["samples"]
        held, touched = samples["peakSamples"], samples["totalQueryableSamples"]
        found.append(Cost(cpu, wall, held, name, touched))
    return sorted(found, reverse=True)


async def compare(consumers: int, hours: float, *, boards: bool) -> None:
    parts = {"Rules": rule_queries()}
    if boards:
        parts |= board_queries(hours)
    names = names_in([each for queries in parts.values() for each in queries])
    timeout = aiohttp.ClientTimeout(total=None)
    with tempfile.TemporaryDirectory() as folder:
        async with (
            _running(Path(folder)) as (pid, address),
            aiohttp.ClientSession(timeout=timeout) as session,
        ):
            # Writing takes minutes: later on the data would be too old for a rule.
            now = time.time()
            made = requests(series(consumers, names), 15.0, hours if boards else 0, now)
            await _fill(session, address, made)
            for title, queries in parts.items():
                rows = await measure(session, pid, address, queries, hours, now)
                _show(f"{title}, {consumers:,} consumers", rows, pid)


def _show(title: str, rows: list[Cost], pid: int) -> None:
    whole = Cost(
        sum(row.cpu for row in rows), sum(row.wall for row in rows),
        max(row.samples for row in rows), f"all {len(rows)}", sum(row.touched for row in rows),
    )  # fmt: skip
    cells = [
        (row.name, seconds(row.cpu), seconds(row.wall), f"{row.samples:,}")
        for row in (whole, *rows[:_DEAREST])
    ]
    show(f"{title}; peak {megabytes(peak_bytes(pid))}", ("", "CPU", "wall", "samples held"), cells)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench rules", description=__doc__)
    parser.add_argument("--consumers", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--hours", type=float, default=6.0, help="that the boards show (default 6)")
    parser.add_argument("--no-boards", action="store_true", help="only the rules")
    arguments = parser.parse_args(argv)
    for consumers in arguments.consumers:
        asyncio.run(compare(consumers, arguments.hours, boards=not arguments.no_boards))


if __name__ == "__main__":
    main()
