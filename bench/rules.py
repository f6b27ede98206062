"""What the alert rules and the boards cost Prometheus: all rules once, every board query once.

A real Prometheus gets half an hour of synthetic series by remote write; one consumer in a hundred is
unwell. CPU time is that of the Prometheus process."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import struct
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import cramjam
import yaml

from alerts.rendering.rule_files import rule_files
from bench.process import ROOT, child, cpu_seconds, free_port, peak_bytes
from bench.table import megabytes, seconds, show
from exporter import catalog
from exporter.metric import Kind, Level, Metric
from streamgauge.demo.processes.program_cache import ProgramMissingError
from streamgauge.demo.processes.programs import prometheus
from streamgauge.promql.selectors import identity

_MINUTES = 31
_PER_STREAM = 10  # consumers
_PER_REQUEST = 4000  # series
_UNWELL = 100  # one in so many
_STARTS = 600  # tenths of a second
_TARGET = {"job": "streamgauge", "instance": "a:7778", "cluster": "bench", "namespace": "nats"}
_VALUES = {
    catalog.CONSUMER_UP: 1, catalog.STREAM_UP: 1, catalog.CONSUMER_MAX_ACK_PENDING: 1000,
    catalog.CONSUMER_ACK_WAIT_SECONDS: 30, catalog.CONSUMER_VERDICT: 0,
    catalog.CONSUMER_STALLED_SECONDS: 0, catalog.CONSUMER_ACK_FLOOR_EXHAUSTED: 0,
    catalog.CONSUMER_EXHAUSTED_MESSAGES: 0, catalog.CONSUMER_ACK_FLOOR_STALLED_SECONDS: 0,
    catalog.STREAM_CONSUMERS: 10, catalog.STREAM_LOST_MESSAGES: 0, catalog.STREAM_MESSAGES: 1000,
    catalog.CONSUMER_RETENTION_HEADROOM_SECONDS: 3000, catalog.STREAM_MAX_AGE_SECONDS: 3600,
    catalog.CONSUMER_RETENTION_HEADROOM_RATIO: 0.9,
}  # fmt: skip
# Present only while something is wrong, paused or pushed.
_RARE = {
    catalog.CONSUMER_PAUSED, catalog.CONSUMER_PUSH_BOUND, catalog.CONSUMER_NAKS,
    catalog.CONSUMER_AHEAD_OF_STREAM_MESSAGES, *catalog.KEPT_IN_OUTAGES,
}  # fmt: skip
# Of the recording rules, which some alerts read.
_RECORDED = ("streamgauge:consumer_busy:bool30m", "streamgauge:consumer_busy:share1d")
_CONDITIONS = ("no_worker_pulls", "ack_pending_full", "falling_behind", "redelivery_high")
_VARIABLE = re.compile(r"\$\{?([a-z_]+)\}?")
_BOARD_TIMES = {"__rate_interval": "1m", "__range": "30m", "__interval": "15s"}


def metrics_of(labels: tuple[str, ...]) -> list[Metric]:
    """What a healthy asset with these labels has at the usual level of detail."""
    return [
        each
        for each in catalog.ALL
        if identity(each) == labels
        and (each.labels == labels or each.kind is Kind.INFO)
        and each.level is Level.CORE
        and each.kind is not Kind.HISTOGRAM
        and each not in _RARE
    ]


def series(consumers: int) -> Iterator[tuple[str, dict[str, str], float, float]]:
    """Name, labels, first value and growth per sample."""
    per_consumer, per_stream = metrics_of(catalog.CONSUMER), metrics_of(catalog.STREAM)
    for number in range(consumers // _PER_STREAM):
        stream = {"system": "nats", "account": "APP", "stream": f"stream-{number:05d}"}
        yield from _asset(per_stream, stream, {"retention": "limits", "discard": "old"})
        for limit in ("bytes", "messages"):
            yield catalog.STREAM_FILL_RATIO.name, {**stream, "limit": limit}, 0.5, 0.0
        for place in range(_PER_STREAM):
            consumer = {**stream, "consumer": f"worker-{place}"}
            yield from _asset(per_consumer, consumer, {"durable": "true", "kind": "pull"})
            for record in _RECORDED:
                yield record, consumer, 0.5, 0.0
            index = number * _PER_STREAM + place
            if index % _UNWELL == 0:
                word = _CONDITIONS[index // _UNWELL % len(_CONDITIONS)]
                start = catalog.CONSUMER_CONDITION_START_TIMESTAMP_SECONDS
                yield start.name, {**consumer, "condition": word}, time.time() - 3600, 0.0
    system = {"system": "nats"}
    yield catalog.SNAPSHOT_AGE_SECONDS.name, system, 5.0, 0.0
    yield catalog.FIRST_SNAPSHOT_TIMESTAMP_SECONDS.name, system, time.time() - 7200, 0.0
    for server in ("n1", "n2", "n3"):
        for metric in metrics_of(catalog.SERVER):
            yield metric.name, {**system, "server": server}, 1.0, 0.0


def _asset(
    metrics: Iterable[Metric], labels: dict[str, str], described: dict[str, str]
) -> Iterator[tuple[str, dict[str, str], float, float]]:
    for metric in metrics:
        own = labels | described if metric.kind is Kind.INFO else labels
        growth = 25.0 if metric.kind is Kind.COUNTER and "redeliver" not in metric.name else 0.0
        first = 1.0 if metric.kind is Kind.INFO else _VALUES.get(metric, 5.0)
        yield metric.name, own, first, growth


# --- remote write ---------------------------------------------------------------------------------


def _field(number: int, body: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(body)) + body


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


class _Samples:
    """The samples of a series; most series share theirs with many others."""

    def __init__(self, step: float) -> None:
        count = int(_MINUTES * 60 / step)
        end = time.time()
        self.times = [int((end - (count - 1 - n) * step) * 1000) for n in range(count)]
        self._known: dict[tuple[float, float], bytes] = {}

    def of(self, first: float, growth: float) -> bytes:
        key = (first, growth)
        if key not in self._known:
            self._known[key] = b"".join(
                _field(2, b"\x09" + struct.pack("<d", first + growth * n) + b"\x10" + _varint(at))
                for n, at in enumerate(self.times)
            )
        return self._known[key]


def requests(consumers: int, step: float) -> Iterator[bytes]:
    samples, parts = _Samples(step), []
    for name, labels, first, growth in series(consumers):
        pairs = sorted({**_TARGET, **labels, "__name__": name}.items())
        written = b"".join(
            _field(1, _field(1, key.encode()) + _field(2, value.encode())) for key, value in pairs
        )
        parts.append(_field(1, written + samples.of(first, growth)))
        if len(parts) == _PER_REQUEST:
            yield bytes(cramjam.snappy.compress_raw(b"".join(parts)))
            parts.clear()
    yield bytes(cramjam.snappy.compress_raw(b"".join(parts)))


# --- measurement ----------------------------------------------------------------------------------


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
        async with aiohttp.ClientSession() as session:
            await _until_ready(session, address)
        yield process.pid, address


async def _until_ready(session: aiohttp.ClientSession, address: str) -> None:
    for _ in range(_STARTS):
        if await _ready(session, address):
            return
        await asyncio.sleep(0.1)
    raise RuntimeError("prometheus: does not start")


async def _ready(session: aiohttp.ClientSession, address: str) -> bool:
    try:
        async with session.get(f"{address}/-/ready") as response:
            return response.status == 200
    except aiohttp.ClientError:
        return False


async def _fill(session: aiohttp.ClientSession, address: str, bodies: Iterable[bytes]) -> None:
    headers = {"Content-Encoding": "snappy", "Content-Type": "application/x-protobuf"}
    for body in bodies:
        async with session.post(f"{address}/api/v1/write", data=body, headers=headers) as response:
            if response.status >= 300:
                raise RuntimeError(f"remote write: {response.status} {await response.text()}")


def rule_queries() -> list[tuple[str, str]]:
    found = []
    for text in rule_files().values():
        for group in yaml.safe_load(text)["groups"]:
            found += [(r.get("alert") or r["record"], r["expr"]) for r in group["rules"]]
    return found


def board_queries() -> list[tuple[str, str]]:
    """With every variable on All."""
    found = []
    for path in sorted((ROOT / "dashboards/generated").glob("*.json")):
        board = json.loads(path.read_text(encoding="utf-8"))
        found += [(f"{path.stem}: {title}", query) for title, query in _targets(board["panels"])]
    return found


def _targets(panels: list[dict[str, object]]) -> Iterator[tuple[str, str]]:
    for panel in panels:
        for target in panel.get("targets", ()):  # type: ignore[attr-defined]
            written = _VARIABLE.sub(lambda name: _BOARD_TIMES.get(name[1], ".*"), target["expr"])
            yield str(panel["title"]), written
        yield from _targets(panel.get("panels", []))  # type: ignore[arg-type]


async def _measure(
    session: aiohttp.ClientSession,
    pid: int,
    address: str,
    path: str,
    queries: list[tuple[str, str]],
) -> list[tuple[float, float, str]]:
    """CPU and wall time of each query, the dearest first."""
    now, found = time.time(), []
    for name, query in queries:
        sent = {"query": query, "time": str(now)}
        if path == "query_range":
            sent = {"query": query, "start": str(now - 1800), "end": str(now), "step": "15"}
        before, began = cpu_seconds(pid), time.perf_counter()
        async with session.post(f"{address}/api/v1/{path}", data=sent) as response:
            body = await response.read()
            if response.status != 200:
                raise RuntimeError(f"{name}: {body[:300]!r}")
        found.append((cpu_seconds(pid) - before, time.perf_counter() - began, name))
    return sorted(found, reverse=True)


async def compare(consumers: int, step: float, *, boards: bool) -> None:
    timeout = aiohttp.ClientTimeout(total=None)
    with tempfile.TemporaryDirectory() as folder:
        async with (
            _running(Path(folder)) as (pid, address),
            aiohttp.ClientSession(timeout=timeout) as session,
        ):
            await _fill(session, address, requests(consumers, step))
            parts = [("rules", "query", [(n, f"count({q})") for n, q in rule_queries()])]
            if boards:
                parts.append(("board queries of half an hour", "query_range", board_queries()))
            for title, path, queries in parts:
                rows = await _measure(session, pid, address, path, queries)
                _show(f"{title}, {consumers:,} consumers", rows, pid)


def _show(title: str, rows: list[tuple[float, float, str]], pid: int) -> None:
    cpu, wall = sum(row[0] for row in rows), sum(row[1] for row in rows)
    whole = ("all", str(len(rows)), seconds(cpu), seconds(wall), megabytes(peak_bytes(pid)))
    dearest = [(name, "1", seconds(c), seconds(w), "") for c, w, name in rows[:10]]
    show(title, ("", "number", "CPU", "wall", "peak"), (whole, *dearest))


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench rules", description=__doc__)
    parser.add_argument("--consumers", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--scrape", type=float, default=15.0, metavar="SECONDS")
    parser.add_argument("--no-boards", action="store_true", help="only the rules")
    arguments = parser.parse_args(argv)
    for consumers in arguments.consumers:
        asyncio.run(compare(consumers, arguments.scrape, boards=not arguments.no_boards))


if __name__ == "__main__":
    main()
