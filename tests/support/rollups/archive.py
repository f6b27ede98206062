"""Writes archives for tests of rollups with the real archive code."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from support.archive.folder import bits_of

from archive.batch import Batch
from archive.publishing.log_id import first_unused_segment
from archive.publishing.publisher import Publisher
from archive.settings.publishing import PublishSettings
from archive.settings.wal import WalSettings
from archive.tables.archive_tables import open_tables
from archive.wal.write_ahead_log import Wal

HOUR = 3_600_000
DAY = 86_400_000
MINUTE = 60_000
MONDAY = 1_790_553_600_000  # 2026-09-28, a midnight

Labels = tuple[tuple[str, str], ...]
Sample = tuple[Labels, int, float | int]  # an int is the bits of the value


def labels(metric: str, **more: str) -> Labels:
    return tuple(sorted({"__name__": metric, **more}.items()))


class RollupArchive:
    """An archive folder that is written in several publications."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, samples: Iterable[Sample], *, now: int, whole: bool = True) -> None:
        """Appends and publishes samples. `whole` merges past days."""
        rows = list(samples)
        with asyncio.Runner() as runner:
            tables = open_tables(self.path)
            least = first_unused_segment(tables, self.path / "wal")
            wal = Wal.open(self.path / "wal", WalSettings(reserve=0), least_segment=least)
            publisher = Publisher(tables, wal, PublishSettings())
            runner.run(wal.append((), _batch(wal, rows)))
            if whole:
                publisher.publish_due(now)
            publisher.publish_all(now)
            runner.run(wal.close())


def _batch(wal: Wal, rows: list[Sample]) -> Batch:
    return Batch(
        "test",
        max(time for _, time, _ in rows),
        np.array([wal.series.identify(identity, "") for identity, _, _ in rows], np.uint32),
        np.array([time for _, time, _ in rows], np.int64),
        np.array([bits_of(value) for _, _, value in rows], np.uint64),
        None,
        (),
    )


def rows_of(table: Any) -> list[dict[str, Any]]:
    """Rows in a stable order, with labels as a dictionary."""
    found = [{**row, "labels": dict(row["labels"])} for row in table.to_pylist()]
    return sorted(found, key=repr)


def spoil(path: Path) -> None:
    """Overwrites all pages of a Parquet file with zeros, except for the footer."""
    group = pq.ParquetFile(path).metadata.row_group(0)
    columns = [group.column(index) for index in range(group.num_columns)]
    data = bytearray(path.read_bytes())
    for column in columns:
        start = column.dictionary_page_offset or column.data_page_offset
        data[start : start + column.total_compressed_size] = bytes(column.total_compressed_size)
    path.write_bytes(data)
