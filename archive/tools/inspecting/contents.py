"""What the files of `samples` hold: samples by day, hours, and minutes without any sample.

Counts come from Parquet footers. Times are read only until every minute of a file's hours has a
sample, which is mostly the case after its first row group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from archive.progress import Progress
from archive.tables.archive_tables import Snapshot
from archive.tables.arrow import Table, pc, pq
from archive.tables.chunk_decoder import hours_of, one_array
from archive.tables.data_file import DataFile
from archive.tables.sample_columns import Int64s
from archive.tables.schema import HOUR_MS, SAMPLES
from archive.tables.storage import Storage

MINUTE_MS: Final = 60_000
_TIMES: Final = ("ts", "stale")


@dataclass(frozen=True, slots=True)
class Gap:
    start: int
    end: int


@dataclass(slots=True)
class DayContents:
    samples: int = 0
    series: dict[int, int] = field(default_factory=dict)  # rows by hour


class ArchiveContents:
    def __init__(self, storage: Storage, snapshot: Snapshot, progress: Progress) -> None:
        self.days = {day: DayContents() for day in snapshot.days}
        self._storage = storage
        self._minutes: set[int] = set()
        files = snapshot.files[SAMPLES]
        with progress.work("reading times", len(files)) as step:
            for file in files:
                self._add(file)
                step(1)

    @property
    def samples(self) -> int:
        return sum(day.samples for day in self.days.values())

    def gaps(self, least: int) -> Iterator[Gap]:
        """Gaps between the first and the last sample, in whole minutes without samples."""
        last: int | None = None
        for minute in sorted(self._minutes):
            start = minute * MINUTE_MS
            if last is not None and start - last >= max(least, MINUTE_MS):
                yield Gap(last, start)
            last = start + MINUTE_MS

    def _add(self, data: DataFile) -> None:
        day = self.days[data.day]
        with self._storage.open(data.path) as source:
            file = pq.ParquetFile(source)
            day.samples += sample_count(file.metadata)
            hours, rows = np.unique(
                hours_of(one_array(file.read(columns=["hour"]), "hour")), return_counts=True
            )
            for hour, count in zip(hours.tolist(), rows.tolist(), strict=True):
                day.series[hour] = day.series.get(hour, 0) + count
            self._add_minutes(file, hours)

    def _add_minutes(self, file: pq.ParquetFile, hours: Int64s) -> None:
        places = hours[:, None] // MINUTE_MS + np.arange(HOUR_MS // MINUTE_MS)
        missing = set(places.ravel().tolist()) - self._minutes
        for group in range(file.num_row_groups):
            if not missing:
                return
            found = _minutes(file.read_row_group(group, columns=["hour", *_TIMES]))
            self._minutes |= found
            missing -= found


def sample_count(metadata: Any) -> int:
    """Values and stale markers, from the footer: an empty list counts as a null."""
    total = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for column in map(group.column, range(group.num_columns)):
            if column.path_in_schema.partition(".")[0] in _TIMES:
                total += column.num_values - column.statistics.null_count
    return int(total)


def _minutes(table: Table) -> set[int]:
    """Minutes since 1970 with a sample."""
    hours, found = hours_of(one_array(table, "hour")), set[int]()
    for name in _TIMES:
        column = one_array(table, name)
        parents = pc.list_parent_indices(column).to_numpy()
        times = hours[parents] + column.flatten().to_numpy(zero_copy_only=False)
        found |= set(np.unique(times // MINUTE_MS).tolist())
    return found
