"""Bytes per sample of the archive, Prometheus and VictoriaMetrics.

All three store the same generated samples and are measured after compaction.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import cramjam
import numpy as np
from numpy.typing import NDArray

from archive.batch import Batch
from archive.publishing.publisher import Publisher
from archive.settings.publishing import PublishSettings
from archive.settings.wal import WalSettings
from archive.tables.archive_tables import open_tables
from archive.tables.schema import DAY_MS, TABLES
from archive.tables.series import Labels
from archive.wal.write_ahead_log import Wal
from bench.archive.generated_samples import STEP_MS, Mix, make_mix
from bench.archive.receivers import prometheus_program, victoria_program
from bench.process import child, free_port
from bench.table import show

_REQUEST_SERIES = 2_000


async def compare(consumers: int = 100) -> float:
    """Our bytes per sample, with hourly statistics."""
    mix = make_mix(consumers)
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as folder:
        place = Path(folder)
        parts = {"ours": await _ours(mix, place / "ours")}
        for name, measure in (("Prometheus", _prometheus), ("VictoriaMetrics", _victoria)):
            size = await measure(mix, place / name)
            if size is not None:
                parts[name] = size
    rows = [
        (name, f"{size:,}", f"{size / mix.samples:.2f}", f"{parts['ours'] / size:.2f}")
        for name, size in parts.items()
    ]
    show(
        f"bytes on disk: {mix.series:,} series, a day at 30 s, {mix.samples:,} samples",
        ("store", "bytes", "B/sample", "ours / theirs"),
        rows,
    )
    return parts["ours"] / mix.samples


async def _ours(mix: Mix, folder: Path) -> int:
    """Through the log and the publisher; compacted, with hourly statistics."""
    wal = await asyncio.to_thread(Wal.open, folder / "wal", WalSettings())
    numbers = np.array([wal.series.identify(labels) for labels in mix.labels], np.uint32)
    for at, values in mix.scrapes():
        times = np.full(len(numbers), at, np.int64)
        await wal.append((), Batch("bench", at, numbers, times, values.view(np.uint64), None))
    tables = open_tables(folder)
    publisher = Publisher(tables, wal, PublishSettings())
    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.to_thread(publisher.publish_due, mix.start + 2 * DAY_MS)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    await wal.close()
    snapshot = tables.read()
    for table in TABLES:
        size = sum(file.size for file in snapshot.files[table])
        print(f"  {table}: {size / mix.samples:.3f} B/sample")
    print(
        f"  published and compacted in {seconds:.1f} s: {mix.samples / cpu / 1e6:.1f} M samples a CPU second"
    )
    return sum(file.size for file in snapshot.every_file())


async def _prometheus(mix: Mix, folder: Path) -> int | None:
    """A snapshot: head and blocks as blocks, without the WAL."""
    program = await asyncio.to_thread(prometheus_program)
    if program is None:
        return None
    await asyncio.to_thread(_empty_configuration, folder)
    port = free_port()
    argv = (
        str(program), f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address=127.0.0.1:{port}",
        "--web.enable-remote-write-receiver", "--web.enable-admin-api",
        "--storage.tsdb.retention.time=100y",
    )  # fmt: skip
    async with child(*argv), _session(port, "/-/ready") as session:
        await _send(session, f"http://127.0.0.1:{port}/api/v1/write", mix)
        async with session.post(f"http://127.0.0.1:{port}/api/v1/admin/tsdb/snapshot") as response:
            name = (await response.json())["data"]["name"]
    return _size(folder / "data" / "snapshots" / name)


def _empty_configuration(folder: Path) -> None:
    folder.mkdir()
    (folder / "prometheus.yml").write_text("global: {}\n")


async def _victoria(mix: Mix, folder: Path) -> int | None:
    program = await asyncio.to_thread(victoria_program)
    if program is None:
        return None
    port = free_port()
    argv = (
        str(program), f"-storageDataPath={folder}",
        f"-httpListenAddr=127.0.0.1:{port}", "-retentionPeriod=100y",
    )  # fmt: skip
    async with child(*argv), _session(port, "/health") as session:
        address = f"http://127.0.0.1:{port}"
        await _send(session, f"{address}/api/v1/write", mix)
        for path in ("/internal/force_flush", "/internal/force_merge"):
            async with session.get(address + path) as response:
                response.raise_for_status()
        await _settled(folder)
    return _size(folder)


async def _settled(folder: Path) -> None:
    """The merge continues after the response: waits until the size is stable."""
    sizes = [-1, _size(folder)]
    while sizes[-1] != sizes[-2]:
        await asyncio.sleep(3)
        sizes.append(_size(folder))


@asynccontextmanager
async def _session(port: int, ready: str) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        while True:
            try:
                async with session.get(f"http://127.0.0.1:{port}{ready}") as response:
                    if response.status == 200:
                        break
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.1)
        yield session


async def _send(session: aiohttp.ClientSession, url: str, mix: Mix) -> None:
    headers = {"Content-Encoding": "snappy", "Content-Type": "application/x-protobuf",
               "X-Prometheus-Remote-Write-Version": "0.1.0"}  # fmt: skip
    templates = list(_templates(mix.labels))
    for at, values in mix.scrapes():
        for template in templates:
            async with session.post(
                url, data=template.filled(at, values), headers=headers
            ) as response:
                if response.status >= 300:
                    raise RuntimeError(f"{url}: {response.status} {await response.text()}")


class _Template:
    """A request in which numpy replaces the values and times of each scrape."""

    def __init__(self, first: int, labels: list[Labels]) -> None:
        body, places = bytearray(), []
        for each in labels:
            inside = b"".join(
                b"\x0a" + _sized(b"\x0a" + _sized(name.encode()) + b"\x12" + _sized(value.encode()))
                for name, value in each
            )
            series = inside + b"\x12\x10\x09" + bytes(8) + b"\x10" + bytes(6)
            body += b"\x0a" + _sized(series)
            places.append(len(body) - 15)
        self._body = np.frombuffer(bytes(body), np.uint8).copy()
        self._places = np.array(places)[:, None]
        self._series = slice(first, first + len(labels))

    def filled(self, at: int, values: NDArray[np.float64]) -> bytes:
        chosen = np.ascontiguousarray(values[self._series])
        self._body[self._places + np.arange(8)] = chosen.view(np.uint8).reshape(-1, 8)
        time_bytes = [at >> shift & 0x7F | (0x80 if shift < 35 else 0) for shift in range(0, 42, 7)]
        self._body[self._places + np.arange(9, 15)] = np.array(time_bytes, np.uint8)
        return bytes(cramjam.snappy.compress_raw(self._body.tobytes()))


def _templates(labels: list[Labels]) -> Iterator[_Template]:
    for first in range(0, len(labels), _REQUEST_SERIES):
        yield _Template(first, labels[first : first + _REQUEST_SERIES])


def _sized(content: bytes) -> bytes:
    size, out = len(content), bytearray()
    while size > 0x7F:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*out, size]) + content


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.archive.size", description=__doc__)
    parser.add_argument("--consumers", type=int, default=100, help="12 series each (default 100)")
    parser.add_argument("--keep", metavar="DIR", help="keep the archive in this folder")
    args = parser.parse_args()
    if args.keep:
        shutil.rmtree(args.keep, ignore_errors=True)
        size = asyncio.run(_ours(mix := make_mix(args.consumers), Path(args.keep)))
        print(f"  {size / mix.samples:.3f} B/sample, every {STEP_MS // 1000} s")
        return
    asyncio.run(compare(args.consumers))


if __name__ == "__main__":
    main()
