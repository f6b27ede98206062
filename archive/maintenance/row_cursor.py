"""Cursors over sorted rows, in a file or in memory, by ranges of series."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Protocol

import numpy as np

from archive.tables.arrow import Table, pa, pq
from archive.tables.chunk_decoder import one_array
from archive.tables.data_file import DataFile
from archive.tables.id_column import IdColumn
from archive.tables.sample_columns import Int64s
from archive.tables.storage import Storage

# Rows without a series come first: 1.0 metadata of a family.
NO_RANK = -1


class Cursor(Protocol):
    ranks: Int64s

    def take(self, first: int, end: int) -> Table:
        """The rows from `first` to before `end`."""


class MemoryCursor:
    def __init__(self, table: Table, ranks: IdColumn) -> None:
        self.ranks = ranks_of(table, ranks)
        self._table = table

    def take(self, first: int, end: int) -> Table:
        return self._table.slice(first, end - first)


class FileCursor:
    """Reads the series column at once, and row groups on demand, one at a time."""

    def __init__(
        self,
        file: pq.ParquetFile,
        ranks: IdColumn,
        reading: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """`reading` names the file in errors, which surface while another one is written."""
        self._file, self._reading = file, reading
        self.ranks = ranks_of(file.read(columns=["series"]), ranks)
        sizes = [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)]
        self._bounds = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        self._held: tuple[int, Table] | None = None

    def take(self, first: int, end: int) -> Table:
        if end <= first:
            return self._file.schema_arrow.empty_table()
        group = int(np.searchsorted(self._bounds, first, side="right")) - 1
        parts = []
        while group < self._file.num_row_groups and self._bounds[group] < end:
            begin = int(self._bounds[group])
            table = self._group(group)
            low, high = max(first - begin, 0), min(end - begin, table.num_rows)
            parts.append(table.slice(low, high - low))
            group += 1
        return pa.concat_tables(parts)

    def _group(self, number: int) -> Table:
        if self._held is None or self._held[0] != number:
            with self._reading():
                self._held = number, self._file.read_row_group(number)
        return self._held[1]


@contextlib.contextmanager
def file_cursors(
    storage: Storage, files: Sequence[DataFile], ranks: IdColumn
) -> Iterator[list[FileCursor]]:
    with contextlib.ExitStack() as open_files:
        cursors = []
        for file in files:
            reading = partial(storage.reading, file.path)
            with reading():
                source = pq.ParquetFile(open_files.enter_context(storage.open(file.path)))
                cursors.append(FileCursor(source, ranks, reading))
        yield cursors


def ranks_of(table: Table, ranks: IdColumn) -> Int64s:
    """The rank of each row's series."""
    numbers = one_array(table, "series").fill_null(-1).to_numpy(zero_copy_only=False)
    return np.where(numbers < 0, NO_RANK, ranks[numbers])
