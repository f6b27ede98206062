"""Writes a recording into a new archive directory, in the archive's own format.

A day at a time and without a log: publishing hour by hour takes three times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from archive.maintenance.file_writer import target_writer
from archive.maintenance.rewrite_targets import Target
from archive.tables.archive_tables import open_tables
from archive.tables.arrow import Table
from archive.tables.chunk_encoder import Chunks, cut, rows
from archive.tables.data_file import Change
from archive.tables.hourly_statistics import hourly_rows, statistics
from archive.tables.sample_columns import Floats, Int64s, Samples
from archive.tables.schema import (
    HOUR_MS,
    HOURLY,
    LOOKBACK_HOURS,
    SAMPLES,
    SERIES,
    STALE_BITS,
    day_name,
    hour_start,
)
from archive.tables.series import SeriesRegistry
from archive.tables.storage import Storage
from streamgauge.demo.history.recorded_series import HistoryError, Recording
from streamgauge.demo.history.time_grid import DAY

_GROUP_ROWS: Final = 30_000
_KEY: Final = ("metric", "series", "hour")
# Part of the file names; the folder is new.
_STAMP: Final = "history"

Step = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Written:
    samples: int
    series: int
    days: int
    size: int


def write_archive(recording: Recording, folder: Path, step: Step = lambda _: None) -> Written:
    """`step` is called after each day. Nothing is visible before the last one is written."""
    tables = open_tables(folder)
    if not tables.read().is_absent:
        raise HistoryError(f"{folder}: is an archive already; choose another directory")
    registry = SeriesRegistry(tables.storage, ())
    numbers = registry.numbers([each.labels for each in recording.series])
    writer = _Days(tables.storage, registry, _matrix(recording, numbers))
    for first in range(0, len(recording.grid), DAY // recording.grid.step):
        writer.write(recording, first, first + DAY // recording.grid.step)
        step(1)
    writer.changes[SERIES] = registry.write(_STAMP)
    tables.write(writer.changes, registry.next_number)
    snapshot = tables.read()
    size = sum(file.size for file in snapshot.every_file())
    return Written(writer.samples, len(numbers), len(snapshot.days), size)


def _matrix(recording: Recording, numbers: Sequence[int]) -> Floats:
    """A row for each series id."""
    found = np.empty((len(numbers), len(recording.grid)))
    taken: set[int] = set()
    for number, each in zip(numbers, recording.series, strict=True):
        if number in taken:
            raise HistoryError(f"{each.labels}: is recorded twice")
        taken.add(number)
        found[number] = each.values
    return found


@dataclass(slots=True)
class _Days:
    storage: Storage
    registry: SeriesRegistry
    values: Floats  # by series and timestamp
    samples: int = 0
    changes: dict[str, Change] = field(default_factory=dict)
    _last: Floats = field(init=False)  # of each series, and when
    _last_time: Int64s = field(init=False)

    def __post_init__(self) -> None:
        self._last = np.full(len(self.values), np.nan)
        self._last_time = np.zeros(len(self.values), np.int64)

    def write(self, recording: Recording, first: int, last: int) -> None:
        times = recording.grid.times[first:last].astype(np.int64) * 1000
        samples = self._samples(times, first, last)
        if not len(samples):
            return
        chunks = cut(samples)
        table = rows(chunks, self.registry.metrics(chunks.series), [""])
        found = statistics(chunks.values, chunks.counts, self._before(chunks))
        self.samples += len(samples)
        self.registry.seen(np.unique(chunks.series), day_name(int(times[0])))
        hours = [hour_start(int(times[place])) for place in (0, -1)]
        self._write_file(SAMPLES, table, hours)
        self._write_file(HOURLY, hourly_rows(table.select(_KEY), found), hours)

    def _samples(self, times: Int64s, first: int, last: int) -> Samples:
        """Sorted by metric, series and time, with a stale marker where a series ends."""
        order = self.registry.by_rank()
        part = self.values[order, first:last]
        present = ~np.isnan(part)
        before = np.zeros_like(present)
        before[:, 1:] = present[:, :-1]
        if first:
            before[:, 0] = ~np.isnan(self.values[order, first - 1])
        # Without a scrape there is no stale marker.
        ended = before & ~present & present.any(axis=0)
        bits = part.view(np.uint64).copy()
        bits[ended] = STALE_BITS
        row, column = np.nonzero(present | ended)
        return Samples(
            order[row].astype(np.int32),
            np.zeros(len(row), np.int32),
            times[column],
            bits[row, column],
        )

    def _before(self, chunks: Chunks) -> Floats:
        """The last value before each chunk: of the same day, else of the day before."""
        filled = chunks.counts > 0
        last = np.full(len(chunks), np.nan)
        last[filled] = chunks.values[np.cumsum(chunks.counts)[filled] - 1]
        earlier = np.maximum.accumulate(np.where(filled, np.arange(len(chunks)), -1))
        earlier = np.concatenate(([-1], earlier[:-1]))
        same = (earlier >= 0) & (chunks.series[earlier] == chunks.series)
        near = chunks.hours - self._last_time[chunks.series] <= LOOKBACK_HOURS * HOUR_MS
        carried = np.where(near, self._last[chunks.series], np.nan)
        newest = np.flatnonzero(filled)  # of one series the last one stays
        self._last[chunks.series[newest]] = last[newest]
        self._last_time[chunks.series[newest]] = chunks.hours[newest]
        return np.where(same, last[earlier], carried)

    def _write_file(self, table: str, content: Table, hours: Sequence[int]) -> None:
        target = Target(table, (), tuple(hours))
        with target_writer(self.storage, target, _STAMP) as writer:
            parts = range(0, content.num_rows, _GROUP_ROWS)
            writer.write(content.slice(first, _GROUP_ROWS) for first in parts)
        self.changes[table] = self.changes.get(table, Change()) + Change((), writer.files)
