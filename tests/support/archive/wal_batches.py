"""Requests for tests of the write-ahead log: made, kept in a folder, and read back."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from archive.batch import Batch, Opaque, SeriesDefinition
from archive.settings.wal import WalSettings
from archive.wal.record import WalRecord
from archive.wal.segments.reader import read_segment
from archive.wal.segments.segment import segment_paths
from archive.wal.write_ahead_log import Wal

HOUR = 3_600_000
NOON = 1_790_000_000_000 // HOUR * HOUR  # any full hour
STALE = 0x7FF0000000000002
# Tests fill small disks, so nothing is held back; and a broken one is tried again at once.
EAGER = WalSettings(reserve=0, retry=0.01)


def labels(number: int) -> tuple[tuple[str, str], ...]:
    return (("__name__", f"metric_{number % 3}"), ("consumer", f"c{number}"), ("job", "nats"))


def definition(number: int, replica: str = "") -> SeriesDefinition:
    return SeriesDefinition(number, labels(number), replica)


def batch(
    series: Sequence[int],
    *,
    received: int = NOON,
    values: Sequence[float] | None = None,
    sender: str = "prometheus-a",
    starts: bool = False,
    opaque: tuple[Opaque, ...] = (),
) -> Batch:
    count = len(series)
    numbers = np.arange(count, dtype=np.float64) if values is None else np.array(values, np.float64)
    times = received + np.arange(count, dtype=np.int64)
    return Batch(
        sender,
        received,
        np.array(series, np.uint32),
        times,
        numbers.view(np.uint64),
        times - 60_000 if starts else None,
        opaque,
    )


def plain(each: Batch) -> tuple[Any, ...]:
    """All of it as values that compare."""
    starts = None if each.starts is None else each.starts.tolist()
    columns = (each.series.tolist(), each.times.tolist(), each.values.tolist(), starts)
    return (each.sender, each.received, *columns, each.opaque)


def plain_record(record: WalRecord) -> tuple[Any, ...]:
    return (record.definitions, *plain(record.batch))


def records_of(folder: Path) -> list[WalRecord]:
    """What a reader finds, segment after segment."""
    return [record for path in segment_paths(folder).values() for record in read_segment(path)]


def batches_of(folder: Path) -> list[tuple[Any, ...]]:
    return [plain(record.batch) for record in records_of(folder)]


def keep(folder: Path, batches: Iterable[Batch], settings: WalSettings = EAGER) -> None:
    """Every request alone in its group, appended by a log that is opened and closed for it."""

    async def append_all() -> None:
        wal = await asyncio.to_thread(Wal.open, folder, settings)
        for each in batches:
            await append(wal, each)
        await wal.close()

    asyncio.run(append_all())


async def append(wal: Wal, each: Batch) -> None:
    """Its series are those of `labels`, numbered in the order in which they come."""
    known = len(wal.series)
    highest = int(each.series.max()) + 1 if len(each.series) else 0
    await wal.append([definition(number) for number in range(known, highest)], each)


def failing(code: int, text: str) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise OSError(code, text)

    return fail
