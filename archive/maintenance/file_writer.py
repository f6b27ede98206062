"""Writes the merged rows of a target into files of bounded size."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Final

from archive.maintenance.rewrite_targets import Target
from archive.tables.arrow import Table, pc
from archive.tables.chunk_decoder import hours_of, one_array
from archive.tables.manifest import FileEntry
from archive.tables.parquet_files import TableFile, new_file
from archive.tables.schema import HOUR_MS
from archive.tables.storage import Storage

# About 250 MB for a day at two samples a minute.
PART_ROWS: Final = 2_000_000


class TargetWriter:
    """Splits sorted tables into files; `entries` is complete after `close`."""

    def __init__(self, storage: Storage, target: Target, stamp: str) -> None:
        self.target = target
        self.entries: list[FileEntry] = []
        self._storage, self._stamp = storage, stamp
        self._open: contextlib.ExitStack | None = None
        self._file: TableFile | None = None

    def write(self, tables: Iterable[Table]) -> None:
        for table in tables:
            if self._file is not None and self._file.rows + table.num_rows > PART_ROWS:
                self.close()
            file = self._file or self._begin()
            file.write(table, _span(table))

    def close(self) -> None:
        if self._file is None or self._open is None:
            return
        with self._open:
            self.entries.append(self._file.finish())
        self._file = self._open = None

    def abandon(self, error: BaseException) -> None:
        """Discards the open file."""
        if self._open is not None:
            with contextlib.suppress(Exception):  # the first error is raised
                self._open.__exit__(type(error), error, error.__traceback__)
        self._file = self._open = None

    def _begin(self) -> TableFile:
        path = self.target.path(self._stamp, len(self.entries))
        self._open = contextlib.ExitStack()
        made = new_file(self._storage, path, self.target.table, self.target.hours)
        self._file = self._open.enter_context(made)
        return self._file


@contextlib.contextmanager
def target_writers(
    storage: Storage, targets: Iterable[Target], stamp: str
) -> Iterator[list[TargetWriter]]:
    """All writers open at once; complete when the block ends without error."""
    writers = [TargetWriter(storage, target, stamp) for target in targets]
    try:
        yield writers
        for writer in writers:
            writer.close()
    except BaseException as error:
        for writer in writers:
            writer.abandon(error)
        raise


def _span(table: Table) -> tuple[int, int]:
    """The first and the last time of the rows; hours for tables without times."""
    hours = hours_of(one_array(table, "hour"))
    if "ts" not in table.column_names:
        return int(hours.min()), int(hours.max()) + HOUR_MS - 1
    offsets = [edge for name in ("ts", "stale") for edge in _edges(table, name)]
    return min(offsets), max(offsets)


def _edges(table: Table, name: str) -> list[int]:
    """The first and the last time in a list column."""
    column = one_array(table, name)
    parents = pc.list_parent_indices(column).to_numpy()
    if len(parents) == 0:
        return []
    times = hours_of(one_array(table, "hour"))[parents] + pc.list_flatten(column).to_numpy()
    return [int(times.min()), int(times.max())]
