"""Rewrites one target: merges its old rows with new ones into new files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping

from archive.maintenance.file_writer import TargetWriter, target_writer
from archive.maintenance.merge import DAY_GROUP_ROWS, EVERY_RANK, HOUR_GROUP_ROWS, in_order, merged
from archive.maintenance.rewrite_targets import Target
from archive.maintenance.row_cursor import FileCursor, MemoryCursor, file_cursors
from archive.tables.arrow import Table, pa
from archive.tables.data_file import Change
from archive.tables.id_column import IdColumn
from archive.tables.storage import Storage


class Rewrite:
    def __init__(self, target: Target, old: list[FileCursor], writer: TargetWriter) -> None:
        self.target = target
        self.old = old
        self._writer = writer

    @property
    def change(self) -> Change:
        """Complete after the block of `rewriting`."""
        return Change(self.target.old, self._writer.files)

    def add(
        self, fresh: Mapping[int, Table], ranks: IdColumn, within: tuple[int, int] = EVERY_RANK
    ) -> None:
        """Writes the old and new rows of a range of ranks; call it with ascending ranges.

        `fresh` is by hour; hours of other targets are ignored.
        """
        tables = [table for hour, table in fresh.items() if hour in self.target.hours]
        cursor = MemoryCursor(in_order(pa.concat_tables(tables), ranks), ranks) if tables else None
        rows = HOUR_GROUP_ROWS if self.target.is_one_hour else DAY_GROUP_ROWS
        self.write(merged(self.old, cursor, ranks, rows, within))

    def write(self, tables: Iterable[Table]) -> None:
        self._writer.write(tables)


@contextlib.contextmanager
def rewriting(storage: Storage, target: Target, ranks: IdColumn, stamp: str) -> Iterator[Rewrite]:
    with (
        file_cursors(storage, target.old, ranks) as old,
        target_writer(storage, target, stamp) as writer,
    ):
        yield Rewrite(target, old, writer)
