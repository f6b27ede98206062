"""A read-only view of an archive: the published data, and the log as if it were published.

The server may be running: the view changes, locks and deletes nothing.
"""

from __future__ import annotations

import contextlib
import logging
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from archive.progress import Progress
from archive.publishing.publisher import Publisher
from archive.series.table import SeriesTable
from archive.settings.publishing import PublishSettings
from archive.tables.archive_tables import ArchiveTables, Snapshot, TableLog, open_tables
from archive.tables.data_file import Change, DataFile
from archive.tables.schema import TABLES, WAL
from archive.tables.storage import Storage, open_storage, shown
from archive.wal.recovery import Recovery, recover
from archive.wal.segments.segment import Segment
from archive.wal.series_checkpoint import SeriesCheckpoint

_ATTEMPTS = 5
NOTHING = "(no tables, no log)"


class ArchiveMissingError(Exception):
    """There is no archive at this address."""


@dataclass(frozen=True, slots=True)
class WalFolder:
    """The log folder, read without owning it."""

    path: Path
    series: SeriesTable
    recovery: Recovery

    oldest: ClassVar[int | None] = None

    def seal(self) -> Segment | None:
        """Does nothing: the open segment is read up to its last complete record."""
        return None

    def sealed_segments(self) -> list[Segment]:
        return self.recovery.segments

    def remove(self, segments: Sequence[Segment]) -> None:
        """Does nothing: only the owner of the log removes segments."""


class _ScratchStorage(Storage):
    """Reads the archive; new files go to a scratch folder."""

    def __init__(self, archive: Storage, scratch: Path) -> None:
        vars(self).update(vars(archive))
        self._scratch = open_storage(scratch)
        self._new: set[str] = set()

    @contextlib.contextmanager
    def create(self, path: str) -> Iterator[Any]:
        self._new.add(path)
        with self._scratch.create(path) as sink:
            yield sink

    @contextlib.contextmanager
    def open(self, path: str) -> Iterator[Any]:
        if path not in self._new:
            with super().open(path) as source:
                yield source
            return
        with self._scratch.open(path) as source:
            yield source

    def delete(self, path: str) -> None:
        """Does nothing: the scratch folder is temporary."""


class _UncommittedLog:
    """A version of a table with changes that are not committed."""

    def __init__(self, log: TableLog) -> None:
        self.name, self._log = log.name, log
        self._files = log.read()
        self._positions: dict[str, int] = {}

    @property
    def version(self) -> int:
        return self._log.version

    def read(self) -> tuple[DataFile, ...]:
        return self._files

    def position(self, application: str) -> int | None:
        return self._positions.get(application, self._log.position(application))

    def commit(
        self, change: Change, positions: Mapping[str, int], *, data_change: bool = True
    ) -> None:
        removed = {file.path for file in change.removed}
        kept = [file for file in self._files if file.path not in removed]
        self._files = (*kept, *change.added)
        self._positions.update(positions)

    def checkpoint(self) -> None:
        """Does nothing, like the next two."""

    def drop_old_versions(self) -> None: ...

    def vacuum(self, older_than: float) -> list[str]:
        return []


@dataclass(frozen=True, slots=True)
class View:
    archive: ArchiveTables
    storage: Storage  # with the samples of the log, like `snapshot`
    snapshot: Snapshot
    published: Snapshot
    next_series: int
    wal: WalFolder | None


@contextlib.contextmanager
def open_view(place: str, wal: str | None, progress: Progress) -> Iterator[View]:
    """`place` is a folder or an address; `wal` is the log folder if it is elsewhere."""
    tables = open_tables(place)
    folder = _wal_folder(tables.storage, wal)
    with tempfile.TemporaryDirectory(prefix="streamgauge-") as scratch:
        for attempt in range(_ATTEMPTS):
            try:
                view = _view(tables, Path(scratch) / str(attempt), folder, progress)
            except FileNotFoundError:  # the server removed a segment during the read
                view = None
            # Data that the server published meanwhile is in neither part of the view.
            if view is not None and view.published.versions == tables.read().versions:
                break
        else:
            raise ArchiveMissingError(f"{shown(place)}: it changes faster than it can be read")
        if view.published.is_absent and view.wal is None:
            raise ArchiveMissingError(f"{shown(place)}: there is no archive here {NOTHING}")
        yield view


def _view(tables: ArchiveTables, scratch: Path, folder: Path | None, progress: Progress) -> View:
    published = tables.read()
    if folder is None:
        return View(tables, tables.storage, published, published, tables.next_series, None)
    series = SeriesTable()
    wal = WalFolder(folder, series, recover(folder, series, SeriesCheckpoint(folder)))
    storage = _ScratchStorage(tables.storage, scratch)
    uncommitted = ArchiveTables(
        storage, {table: _UncommittedLog(tables.logs[table]) for table in reversed(TABLES)}
    )
    with _quiet():
        Publisher(uncommitted, wal, PublishSettings(), progress, owns_log=False).publish_all(0)
    return View(tables, storage, uncommitted.read(), published, uncommitted.next_series, wal)


def _wal_folder(storage: Storage, wal: str | None) -> Path | None:
    if wal is not None:
        if not Path(wal).is_dir():
            raise ArchiveMissingError(f"{wal}: there is no such folder")
        return Path(wal)
    beside = storage.folder / WAL if storage.folder else None
    return beside if beside and beside.is_dir() else None


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Disables the log of the publisher, since nothing is really published."""
    ours = logging.getLogger("archive.publishing.log_commits")
    before, ours.disabled = ours.disabled, True
    try:
        yield
    finally:
        ours.disabled = before
