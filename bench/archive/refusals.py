"""Ingestion rate of the archive when each request has one bad series and the quarantine is full."""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from archive.components import QUARANTINE_FOLDER
from archive.ingest.quarantine import BODY, FACTS
from archive.settings.quarantine import QuarantineSettings
from bench.archive.ingest import SUCCESS, connected, post
from bench.archive.receivers import OURS
from bench.archive.remote_write_load import INTERVAL_MS, Load
from bench.process import child, free_port, until_ready
from bench.table import show

_CONSUMERS: Final = 2_000
_ROUNDS: Final = 24
_REFUSED: Final = (400,)


async def _rates(good: Load, bad: Load) -> tuple[float, float]:
    """Good samples a second without and with the bad series, in turns on one archive."""
    first_time = time.time_ns() // 1_000_000 - (_ROUNDS + 1) * INTERVAL_MS
    walls: dict[int, list[float]] = {0: [], 1: []}
    with tempfile.TemporaryDirectory() as folder:
        _fill_quarantine(Path(folder) / "data" / QUARANTINE_FOLDER)
        port = free_port()
        async with child(*OURS.command(Path(folder), port)):
            await until_ready(OURS.ready_url(port))
            loads = ((good, SUCCESS), (bad, _REFUSED))
            rounds = [list(load.rounds(first_time, _ROUNDS + 1)) for load, _ in loads]
            for number in range(_ROUNDS + 1):
                for kind, (_, codes) in enumerate(loads):
                    wall = _send(port, rounds[kind][number][0], codes)
                    if number:  # the first one brings new series
                        walls[kind].append(wall)
    fine, refused = (good.series / statistics.median(walls[kind]) for kind in (0, 1))
    return fine, refused


def _fill_quarantine(folder: Path) -> None:
    folder.mkdir(parents=True)
    for number in range(QuarantineSettings().files // 2):
        stem = f"20260101T000000.000Z-{number:06}"
        (folder / f"{stem}{BODY}").write_bytes(bytes(10_000))
        (folder / f"{stem}{FACTS}").write_text("{}\n")


def _send(port: int, bodies: Sequence[bytes], codes: Sequence[int]) -> float:
    with connected(port) as connection:
        started = time.perf_counter()
        for body in bodies:
            fault = post(connection, OURS.path, body, codes)
            if fault:
                raise RuntimeError(fault)
        return time.perf_counter() - started


async def compare(sizes: Sequence[int], labels: Sequence[int]) -> list[float]:
    """The rates with a bad series as shares of those without."""
    rows, shares = [], []
    for size in sizes:
        for count in labels:
            good = Load(_CONSUMERS, count, size, 1)
            fine, refused = await _rates(good, Load(_CONSUMERS, count, size, 1, bad_series=1))
            shares.append(refused / fine)
            rows.append((f"{size} a request, {count} labels", f"{fine / 1000:.0f}",
                         f"{refused / 1000:.0f}", f"{refused / fine:.2f}"))  # fmt: skip
    title = "ingest with one bad series in each request, quarantine full; k samples/s"
    show(title, ("", "good", "with a bad one", "ratio"), rows)
    return shares


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.archive.refusals", description=__doc__)
    parser.add_argument("--requests", type=int, nargs="+", default=[2000, 500], metavar="SAMPLES")
    parser.add_argument("--labels", type=int, nargs="+", default=[8, 20])
    args = parser.parse_args()
    asyncio.run(compare(args.requests, args.labels))


if __name__ == "__main__":
    main()
