"""Memory of the archive per live series, and per series that it has forgotten; 20 labels each."""

from __future__ import annotations

import asyncio
import gc
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import Final

from archive.remote_write.decoder import Decoder, Version
from archive.series.idle import IdleSeries
from archive.settings.limits import Limits
from archive.settings.publishing import RetentionSettings
from archive.settings.wal import WalSettings
from archive.wal.write_ahead_log import Wal
from bench.archive.ingest import send
from bench.archive.receivers import OURS
from bench.archive.remote_write_load import INTERVAL_MS, Load
from bench.process import child, free_port, until_ready

LABELS: Final = 20
_CONSUMERS: Final = 20_000
_WEEK_CONSUMERS: Final = 1_000
_WEEKS: Final = 5
_HOUR: Final = 3_600_000
_WEEK: Final = 7 * 24 * _HOUR


async def live_bytes() -> float:
    """Resident memory per live series of a running archive."""
    load, small = Load(_CONSUMERS, LABELS, 2_000, 1), Load(100, LABELS, 1_200, 1)
    now = time.time_ns() // 1_000_000 - 3 * INTERVAL_MS
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        async with child(*OURS.command(Path(folder), port)) as process:
            await until_ready(OURS.ready_url(port))
            await send(OURS, port, list(small.rounds(now, 1)))
            before = _resident(process.pid)
            for bodies in load.rounds(now, 2):
                await send(OURS, port, [bodies])
            each = (_resident(process.pid) - before) / load.series
    print(f"\n  {load.series:,} live series with {LABELS} labels: {each:.0f} bytes each")
    return each


async def forgotten_bytes() -> float:
    """Growth per series over weeks in which all series are new and those of before are forgotten."""
    with tempfile.TemporaryDirectory() as folder:
        wal = await asyncio.to_thread(Wal.open, Path(folder), WalSettings())
        decoder = Decoder(Limits(), "", wal.series)
        idle = IdleSeries(wal, RetentionSettings(), decoder.forget_series)
        weeks = [1_790_000_000_000 + week * (_WEEK + 3 * _HOUR) for week in range(_WEEKS)]
        requests = [_requests(week, now) for week, now in enumerate(weeks)]
        tracemalloc.start()
        sizes = []
        for now, bodies in zip(weeks, requests, strict=True):
            for body in bodies:
                await wal.append((), decoder.decode(Version.V1, body, "bench", now).batch)
            await asyncio.to_thread(_forget, wal, decoder, idle, now)
            sizes.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        known = wal.series.known
        await wal.close()
    series = _WEEK_CONSUMERS * 12
    each = (sizes[-1] - sizes[1]) / (series * (_WEEKS - 2))
    print(
        f"  {series * _WEEKS:,} series not seen for a week: {known:,} known, {each:.1f} bytes each"
    )
    return each


def _requests(week: int, now: int) -> list[bytes]:
    load = Load(_WEEK_CONSUMERS, LABELS, 2_000, 1, first=week * _WEEK_CONSUMERS)
    return next(load.rounds(now, 1))[0]


def _forget(wal: Wal, decoder: Decoder, idle: IdleSeries, now: int) -> None:
    """As the server: published, evicted from the caches, forgotten a week later."""
    idle.forget(now)
    wal.seal()
    wal.remove(wal.sealed_segments())
    # A week at once would be a clock that was set: nothing is forgotten then.
    for later in range(now, now + _WEEK + 3 * _HOUR + 1, 3 * _HOUR):
        decoder.forget_unused(later)
        idle.forget(later)
    gc.collect()


def _resident(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    return 0


async def measure() -> None:
    await live_bytes()
    await forgotten_bytes()


def main() -> None:
    asyncio.run(measure())


if __name__ == "__main__":
    main()
