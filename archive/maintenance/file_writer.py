"""Writes the merged rows of a target into files of bounded size."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Final

from archive.maintenance.rewrite_targets import Target
from archive.tables.arrow import Table
from archive.tables.data_file import DataFile
from archive.tables.parquet_files import TableFile, new_file
from archive.tables.storage import Storage

# About 250 MB for a day at two samples a minute.
PART_ROWS: Final = 2_000_000


class TargetWriter:
    """Splits sorted tables into files; `files` is complete after `close`."""

    def __init__(self, storage: Storage, target: Target, stamp: str) -> None:
        self.target = target
        self.files: list[DataFile] = []
        self._storage, self._stamp = storage, stamp
        self._open: contextlib.ExitStack | None = None
        self._file: TableFile | None = None

    def write(self, tables: Iterable[Table]) -> None:
        for table in tables:
            if self._file is not None and self._file.rows + table.num_rows > PART_ROWS:
                self.close()
            (self._file or self._begin()).write(table)

    def close(self) -> None:
        if self._file is None or self._open is None:
            return
        with self._open:
            self.files.append(self._file.finish())
        self._file = self._open = None

    def abandon(self, error: BaseException) -> None:
        """Discards the open file and deletes the others: no commit names them."""
        if self._open is not None:
            with contextlib.suppress(Exception):  # the first error is raised
                self._open.__exit__(type(error), error, error.__traceback__)
        self._file = self._open = None
        delete_files(self._storage, self.files)

    def _begin(self) -> TableFile:
        path = self.target.path(self._stamp, len(self.files))
        self._open = contextlib.ExitStack()
        made = new_file(self._storage, path, self.target.table, self.target.day)
        self._file = self._open.enter_context(made)
        return self._file


@contextlib.contextmanager
def target_writer(storage: Storage, target: Target, stamp: str) -> Iterator[TargetWriter]:
    """Complete when the block ends without error."""
    writer = TargetWriter(storage, target, stamp)
    try:
        yield writer
        writer.close()
    except BaseException as error:
        writer.abandon(error)
        raise


def delete_files(storage: Storage, files: Iterable[DataFile]) -> None:
    """Frees the space of files that will not be committed; vacuum deletes those that stay."""
    for file in files:
        with contextlib.suppress(Exception):  # the error that led here is raised
            storage.delete(file.path)
