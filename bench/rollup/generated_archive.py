"""Generates an archive of twelve consumer metrics for the rollup benchmark.

A month of hourly statistics, or a day of samples, in the encodings of the archive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from numpy.typing import NDArray

from archive.tables.archive_tables import ArchiveTables, open_tables
from archive.tables.chunk_encoder import cut, rows
from archive.tables.chunk_statistics import ChunkStatistics
from archive.tables.data_file import Change, DataFile
from archive.tables.hourly_statistics import hourly_rows, statistics
from archive.tables.parquet_files import new_file
from archive.tables.sample_columns import Samples
from archive.tables.schema import (
    DAY_MS,
    HOUR_MS,
    HOURLY,
    SAMPLES,
    SERIES,
    day_folder,
    day_name,
    timestamps,
)
from archive.tables.series import Labels, SeriesRegistry
from archive.tables.storage import Storage

START: Final = 1_790_553_600_000  # 2026-09-28, a midnight
STEP_MS: Final = 30_000
_ROW_GROUP: Final = 30_000
SAMPLES_A_DAY: Final = DAY_MS // STEP_MS
_HOUR_STEPS: Final = HOUR_MS // STEP_MS

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]


def _counter(random: np.random.Generator, size: tuple[int, int]) -> Floats:
    return np.cumsum(random.poisson(20, size), axis=1).astype(np.float64) + 1e6


def _rare(random: np.random.Generator, size: tuple[int, int]) -> Floats:
    return np.cumsum(random.random(size) < 0.01, axis=1).astype(np.float64)


def _level(random: np.random.Generator, size: tuple[int, int]) -> Floats:
    return random.poisson(300, size).astype(np.float64)


def _seconds(random: np.random.Generator, size: tuple[int, int]) -> Floats:
    return random.gamma(2, 3, size).round(3)


def _ratio(random: np.random.Generator, size: tuple[int, int]) -> Floats:
    return random.random(size)


def _constant(random: np.random.Generator, size: tuple[int, int]) -> Floats:
    return np.repeat(random.choice([100.0, 1000.0], (size[0], 1)), size[1], axis=1)


# Sorted by name, as in files.
METRICS: Final[dict[str, Draw]] = {
    f"streamgauge_consumer_{name}": draw
    for name, draw in sorted(
        {
            "ack_floor_gap": _level, "ack_wait_seconds": _constant, "acks_total": _counter,
            "deliveries_total": _counter, "lag_seconds": _seconds, "max_ack_pending": _constant,
            "num_ack_pending": _level, "num_pending": _level, "num_waiting": _level,
            "redeliveries_total": _rare, "redelivery_ratio": _ratio, "stalled_seconds": _seconds,
        }.items()
    )
}  # fmt: skip


def write_month(folder: Path, consumers: int, days: int, exporters: int = 1) -> int:
    """Writes only `hourly/`, `series x 24` rows per day; returns the number of rows.

    With several exporters fewer consumers are seen by each of them: the rows stay as many.
    """
    tables, random = open_tables(folder), np.random.default_rng(3)
    files = []
    for number in range(days):
        start = START + number * DAY_MS
        table = pa.concat_tables(_hours(metric, index, consumers, start, random)
                                 for index, metric in enumerate(METRICS))  # fmt: skip
        files.append(_written(tables.storage, HOURLY, start, table))
    _publish(tables, consumers, {HOURLY: Change((), files)}, exporters)
    return consumers * len(METRICS) * 24 * days


def _hours(
    metric: str, index: int, consumers: int, start: int, random: np.random.Generator
) -> pa.Table:
    """Random statistics per hour, not computed from samples."""
    size = consumers * 24
    first = METRICS[metric](random, (consumers, 24)).ravel()
    last = first + 7
    found = ChunkStatistics(
        count=np.full(size, _HOUR_STEPS), min=first, max=last, sum=first * _HOUR_STEPS, first=first,
        last=last, p95=last - 1, increase=last - first, resets=np.zeros(size, np.int64),
    )  # fmt: skip
    return hourly_rows(_keys(metric, index, consumers, start), found)


def _keys(metric: str, index: int, consumers: int, start: int) -> pa.Table:
    series = np.repeat(np.arange(consumers, dtype=np.int32) + index * consumers, 24)
    hours = np.tile(start + np.arange(24) * HOUR_MS, consumers)
    return pa.table(
        {
            "metric": _names(metric, len(series)),
            "series": series,
            "hour": timestamps(hours),
        }
    )


def write_day(folder: Path, consumers: int) -> int:
    """Writes a day of samples every 30 s with statistics; returns the number of samples."""
    tables, random = open_tables(folder), np.random.default_rng(4)
    samples, hourly = [], []
    for index, metric in enumerate(METRICS):
        for chunk_table, hour_table in _metric_day(metric, index, consumers, random):
            samples.append(chunk_table)
            hourly.append(hour_table)
    changes = {
        table: Change((), [_written(tables.storage, table, START, pa.concat_tables(rows))])
        for table, rows in ((SAMPLES, samples), (HOURLY, hourly))
    }
    _publish(tables, consumers, changes)
    return consumers * len(METRICS) * SAMPLES_A_DAY


def _metric_day(
    metric: str, index: int, consumers: int, random: np.random.Generator
) -> Iterator[tuple[pa.Table, pa.Table]]:
    for low in range(0, consumers, 250):
        count = min(250, consumers - low)
        numbers = np.arange(low, low + count, dtype=np.int32) + index * consumers
        values = METRICS[metric](random, (count, SAMPLES_A_DAY))
        times = np.tile(START + 7_123 + np.arange(SAMPLES_A_DAY) * STEP_MS, count)
        bits = np.ascontiguousarray(values).ravel().view(np.uint64)
        series = np.repeat(numbers, SAMPLES_A_DAY)
        chunks = cut(Samples(series, np.zeros(len(series), np.int32), times, bits))
        table = rows(chunks, _names(metric, len(chunks)), [""])
        ends = chunks.values.reshape(-1, _HOUR_STEPS)[:, -1]
        before = np.where(chunks.hours == START, np.nan, np.append(np.nan, ends[:-1]))
        found = statistics(chunks.values, chunks.counts, before)
        yield table, hourly_rows(table.select(("metric", "series", "hour")), found)


def _names(metric: str, size: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(np.zeros(size, np.int32), [metric])


def _written(storage: Storage, table: str, start: int, content: pa.Table) -> DataFile:
    path = f"{day_folder(table, day_name(start))}/day.parquet"
    unified = content.unify_dictionaries()
    with new_file(storage, path, table, day_name(start)) as file:
        for low in range(0, unified.num_rows, _ROW_GROUP):
            file.write(unified.slice(low, _ROW_GROUP))
        return file.finish()


def _publish(
    tables: ArchiveTables, consumers: int, changes: dict[str, Change], exporters: int = 1
) -> None:
    registry = SeriesRegistry(tables.storage, ())
    labels = [
        _labels(metric, *divmod(number, exporters))
        for metric in METRICS
        for number in range(consumers)
    ]
    numbers = np.array(registry.numbers(labels), np.int32)
    registry.seen(numbers, day_name(START))
    tables.write({**changes, SERIES: registry.write("all")}, registry.next_number)


def _labels(metric: str, consumer: int, exporter: int) -> Labels:
    return (
        ("__name__", metric),
        ("account", f"ACCOUNT{consumer % 3}"),
        ("consumer", f"worker-{consumer:05}"),
        ("instance", f"exporter-{exporter}.example:7778"),
        ("job", "streamgauge"),
        ("stream", f"ORDERS{consumer // 10}"),
        ("system", "nats"),
    )
