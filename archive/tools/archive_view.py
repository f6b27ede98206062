"""A read-only view of an archive: the published data, and the log as if it were published.

The server may be running: the view changes, locks and deletes nothing.
"""

from __future__ import annotations

import contextlib
import logging
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from archive.progress import Progress
from archive.publishing.publisher import Publisher
from archive.series.table import SeriesTable
from archive.settings.publishing import PublishSettings
from archive.tables.manifest import Manifest
from archive.tables.manifest_store import read_manifest
from archive.tables.schema import WAL
from archive.tables.storage import Storage, open_storage, shown
from archive.tables.storage_overlay import OverlayStorage
from archive.wal.recovery import Recovery, recover
from archive.wal.segments.segment import Segment
from archive.wal.series_checkpoint import SeriesCheckpoint

_ATTEMPTS = 5


class ArchiveMissingError(Exception):
    """There is no archive at this address."""


@dataclass(frozen=True, slots=True)
class WalFolder:
    """The log folder, read without owning it."""

    path: Path
    series: SeriesTable
    recovery: Recovery

    def seal(self) -> Segment | None:
        """Does nothing: the open segment is read up to its last complete record."""
        return None

    def sealed_segments(self) -> list[Segment]:
        return self.recovery.segments

    def remove(self, segments: Sequence[Segment]) -> None:
        """Does nothing: only the owner of the log removes segments."""


@dataclass(frozen=True, slots=True)
class View:
    archive: Storage  # the stored archive
    storage: Storage  # with the samples of the log, like `manifest`
    manifest: Manifest
    published: Manifest  # the stored manifest
    wal: WalFolder | None

    @property
    def pending(self) -> int:
        """Samples that are only in the log, without duplicates."""
        whole, done = (
            sum(day.sample_count for day in each.days.values())
            for each in (self.manifest, self.published)
        )
        return whole - done


@contextlib.contextmanager
def open_view(place: str, wal: str | None, progress: Progress) -> Iterator[View]:
    """`place` is a folder or an address; `wal` is the log folder if it is elsewhere."""
    storage = open_storage(place)
    folder = _wal_folder(storage, wal)
    with tempfile.TemporaryDirectory(prefix="streamgauge-") as scratch:
        for attempt in range(_ATTEMPTS):
            overlay = OverlayStorage(storage, Path(scratch) / str(attempt))
            try:
                view = _view(storage, overlay, folder, progress)
            except FileNotFoundError:  # the server removed a segment during the read
                view = None
            # Data that the server published meanwhile is in neither part of the view.
            if view is not None and view.published == read_manifest(storage):
                break
        else:
            raise ArchiveMissingError(f"{shown(place)}: it changes faster than it can be read")
        _check_there(view, place)
        yield view


def _view(
    storage: Storage, overlay: OverlayStorage, folder: Path | None, progress: Progress
) -> View:
    published = read_manifest(storage)
    if folder is None:
        return View(storage, storage, published, published, None)
    table = SeriesTable()
    wal = WalFolder(folder, table, recover(folder, table, SeriesCheckpoint(folder)))
    with _quiet():
        publisher = Publisher(overlay, wal, PublishSettings(), progress, owns_log=False)
        publisher.publish_all(published.written)
    return View(storage, overlay, read_manifest(overlay), published, wal)


def _wal_folder(storage: Storage, wal: str | None) -> Path | None:
    if wal is not None:
        if not Path(wal).is_dir():
            raise ArchiveMissingError(f"{wal}: there is no such folder")
        return Path(wal)
    beside = storage.folder / WAL if storage.folder else None
    return beside if beside and beside.is_dir() else None


def _check_there(view: View, place: str) -> None:
    if view.published.publication == 0 and view.wal is None:
        raise ArchiveMissingError(f"{shown(place)}: there is no archive here (no manifest, no log)")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Disables the log of the publisher, since nothing is really published."""
    ours = logging.getLogger("archive.publishing.publisher")
    before, ours.disabled = ours.disabled, True
    try:
        yield
    finally:
        ours.disabled = before
