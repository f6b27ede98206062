"""Plans the rows that an export reads, in ranges of series that fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from archive.maintenance.row_cursor import ranks_of
from archive.progress import Progress
from archive.tables.archive_tables import Snapshot
from archive.tables.arrow import Table, pa, pq
from archive.tables.chunk_decoder import hours_of, one_array
from archive.tables.data_file import DataFile
from archive.tables.id_column import IdColumn
from archive.tables.sample_columns import Mask
from archive.tables.schema import HOUR_MS, SAMPLES, SAMPLES_SCHEMA
from archive.tables.storage import Storage

RANGE_ROWS: Final = 30_000


@dataclass(frozen=True, slots=True)
class _Group:
    """One row group, with the ranks of its first and last row."""

    path: str
    number: int
    first: int
    last: int


class ExportPlan:
    """`wanted`: for each rank, whether its series is selected."""

    def __init__(
        self, storage: Storage, ranks: IdColumn, wanted: Mask, span: tuple[int, int]
    ) -> None:
        self._storage, self._ranks, self._wanted, self._span = storage, ranks, wanted, span
        self._rows = np.zeros(len(wanted), np.int64)
        self._groups: list[_Group] = []

    def add_files(self, snapshot: Snapshot, progress: Progress) -> None:
        files = [file for file in snapshot.files[SAMPLES] if file.overlaps(*self._span)]
        with progress.work("scanning", len(files)) as step:
            for file in files:
                self._add(file)
                step(1)

    def ranges(self, low: int, high: int) -> Iterator[tuple[int, int, int]]:
        """Non-empty ranges of ranks between two, each with its number of rows."""
        filled = low + np.flatnonzero(self._rows[low:high])
        if len(filled) == 0:
            return
        batch = (np.cumsum(self._rows[filled]) - 1) // RANGE_ROWS
        for number in np.unique(batch).tolist():
            here = filled[batch == number]
            yield int(here[0]), int(here[-1]) + 1, int(self._rows[here].sum())

    @property
    def rows(self) -> int:
        return int(self._rows.sum())

    def read(self, low: int, high: int) -> Table:
        """Rows of the selected series with these ranks, file by file."""
        parts = [SAMPLES_SCHEMA.empty_table()]
        for group in self._groups:
            if group.first < high and group.last >= low:
                with self._storage.open(group.path) as source:
                    table = pq.ParquetFile(source).read_row_group(group.number)
                parts.append(table.filter(pa.array(self._chosen(table, low, high))))
        return pa.concat_tables(parts)

    def _add(self, data: DataFile) -> None:
        with self._storage.open(data.path) as source:
            file = pq.ParquetFile(source)
            table = file.read(columns=["series", "hour"])
            sizes = [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)]
        ranks = ranks_of(table, self._ranks)
        chosen = self._chosen(table, 0, len(self._wanted))
        self._rows += np.bincount(ranks[chosen], minlength=len(self._wanted))
        first = 0
        for number, size in enumerate(sizes):
            if chosen[first : first + size].any():
                edges = int(ranks[first]), int(ranks[first + size - 1])
                self._groups.append(_Group(data.path, number, *edges))
            first += size

    def _chosen(self, table: Table, low: int, high: int) -> Mask:
        ranks, hours = ranks_of(table, self._ranks), hours_of(one_array(table, "hour"))
        in_time = (hours + HOUR_MS > self._span[0]) & (hours < self._span[1])
        chosen: Mask = in_time & (ranks >= low) & (ranks < high) & self._wanted[ranks]
        return chosen


def metric_bounds(names: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Each metric with its range of ranks; `names` are sorted by rank."""
    start = 0
    for place in range(1, len(names) + 1):
        if place == len(names) or names[place] != names[start]:
            yield names[start], start, place
            start = place
