"""A whole archive for reading: what is published and, as if it were, what waits in the log.

The server may be running: nothing is changed, locked or deleted.
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
from archive.wal.segment import Segment
from archive.wal.series_checkpoint import SeriesCheckpoint

_ATTEMPTS = 5


class ArchiveMissingError(Exception):
    """There is no archive at that place."""


@dataclass(frozen=True, slots=True)
class WalFolder:
    """The log's folder as it is found, by somebody who does not own it."""

    path: Path
    series: SeriesTable
    recovery: Recovery

    def seal(self) -> Segment | None:
        """The open segment is read as far as it is whole."""
        return None

    def sealed_segments(self) -> list[Segment]:
        return self.recovery.segments

    def remove(self, segments: Sequence[Segment]) -> None:
        """It stays: only its owner may remove anything."""


@dataclass(frozen=True, slots=True)
class View:
    archive: Storage  # as it is
    storage: Storage  # with the log's samples in it, as the manifest is
    manifest: Manifest
    published: Manifest  # as it is
    wal: WalFolder | None

    @property
    def pending(self) -> int:
        """Samples that are in the log alone, repeated ones counted once."""
        whole, done = (
            sum(day.sample_count for day in each.days.values())
            for each in (self.manifest, self.published)
        )
        return whole - done


@contextlib.contextmanager
def open_view(place: str, wal: str | None, progress: Progress) -> Iterator[View]:
    """`place` is a folder or an address; `wal` the log's folder when it is not in it."""
    storage = open_storage(place)
    folder = _wal_folder(storage, wal)
    with tempfile.TemporaryDirectory(prefix="streamgauge-") as scratch:
        for attempt in range(_ATTEMPTS):
            overlay = OverlayStorage(storage, Path(scratch) / str(attempt))
            try:
                view = _view(storage, overlay, folder, progress)
            except FileNotFoundError:  # the server published a segment while we read it
                view = None
            # What the server published meanwhile is in neither half of what we have.
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
    """The log lines of a publication that does not happen would only confuse."""
    ours = logging.getLogger("archive.publishing.publisher")
    before, ours.disabled = ours.disabled, True
    try:
        yield
    finally:
        ours.disabled = before
