"""Publishes the write-ahead log as Parquet: due hours, then compaction and retention.

Everything here blocks, so it runs in a thread.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from archive.maintenance.compaction import compact_day, compact_series, scattered_days
from archive.maintenance.retention import expired_days, without_days
from archive.maintenance.vacuum import delete_retired, delete_unnamed
from archive.progress import NoProgress, Progress
from archive.publishing.day_publication import DayPublication, DroppedSamples
from archive.publishing.log_id import log_id
from archive.publishing.pending_segments import PendingSegments
from archive.publishing.series_ids import SeriesDefinitions, SeriesIdMap
from archive.settings.publishing import PublishSettings
from archive.tables.arrow import pa
from archive.tables.manifest import Manifest
from archive.tables.manifest_store import drop_old_manifests, read_manifest, write_manifest
from archive.tables.schema import HOUR_MS, day_name
from archive.tables.series import SeriesRegistry
from archive.tables.storage import Storage, StorageError
from archive.wal.segments.segment import Segment
from streamgauge.serving.logs import event

logger = logging.getLogger(__name__)


class SegmentLog(Protocol):
    """The methods of the write-ahead log that publication uses."""

    @property
    def series(self) -> SeriesDefinitions: ...
    def seal(self) -> Segment | None: ...
    def sealed_segments(self) -> list[Segment]: ...
    def remove(self, segments: Sequence[Segment]) -> None: ...


@dataclass(frozen=True, slots=True)
class Published:
    """The result of one call."""

    hours: int = 0
    samples: int = 0
    compacted: int = 0  # days
    deleted: int = 0  # days


class Publisher:
    """The single writer of an archive. A failed call can be repeated safely."""

    def __init__(
        self,
        storage: Storage,
        wal: SegmentLog,
        settings: PublishSettings,
        progress: Progress | None = None,
        *,
        owns_log: bool = True,
    ) -> None:
        """Without `owns_log` nothing is written to the log folder."""
        self.totals = DroppedSamples()
        self.last_success: int | None = None
        self._storage, self._wal, self._settings = storage, wal, settings
        self._progress, self._owns_log = progress or NoProgress(), owns_log
        self._pending = PendingSegments()
        self._manifest: Manifest | None = None
        self._registry: SeriesRegistry | None = None
        self._numbers: SeriesIdMap | None = None
        self._sealed_until = 0
        self._errors: list[StorageError] = []
        self._unclean = True  # the last process may have left files
        self._log = ""  # set with the first segment
        self._lock = threading.Lock()  # the publication at shutdown may overlap another one

    def publish_due(self, now: int) -> Published:
        """Publishes hours that are due and late samples, then compacts and deletes old days."""
        return self._guarded(now, everything=False)

    def publish_all(self, now: int) -> Published:
        """Publishes the whole log, with open hours, for a clean shutdown."""
        return self._guarded(now, everything=True)

    def _guarded(self, now: int, *, everything: bool) -> Published:
        with self._lock:
            try:
                done = self._publish(now, everything=everything)
            except BaseException:
                self._forget()
                raise
            finally:
                pa.default_memory_pool().release_unused()  # the next publication is an hour away
            self.last_success = now
            return done

    def _forget(self) -> None:
        """Discards the state in memory; the next call reads the published state."""
        self._manifest = self._registry = self._numbers = None
        self._unclean = True

    def _attempt(self, work: Callable[[], int]) -> int:
        """Continues after an error: a day with damaged files must not block other days."""
        try:
            return work()
        except StorageError as error:
            self._forget()
            self._errors.append(error)
            return 0

    def _publish(self, now: int, *, everything: bool) -> Published:
        self._errors = []
        before = self._loaded().publication
        self._seal(now, everything=everything)
        self._pending.scan(self._wal.sealed_segments())
        due = self._pending.due(self._of_log(), None if everything else now, self._delay)
        samples = self._publish_days(due, now)
        self._remove_published()
        compacted = 0 if everything else self._compact(now)
        deleted = self._retain(now)
        if self._loaded().publication != before:
            drop_old_manifests(self._storage, self._loaded().publication)
        if self._errors:
            raise self._errors[0]
        return Published(sum(len(hours) for hours in due.values()), samples, compacted, deleted)

    def _loaded(self) -> Manifest:
        if self._manifest is None:
            self._manifest = read_manifest(self._storage)
        return self._manifest

    def _of_log(self) -> Manifest:
        """The manifest for this log; deletes files of an interrupted publication."""
        segments = self._pending.segments
        if segments:
            self._log = log_id(segments[0].path.parent, create=self._owns_log)
        elif not self._log:
            return self._loaded()
        self._manifest = manifest = self._loaded().of_log(self._log)
        if self._unclean and self._owns_log:
            garbage = delete_unnamed(self._storage, manifest, self._log)
            if garbage:
                event(logger, logging.WARNING, "deleted files of an interrupted publication",
                      archive=str(self._storage), files=garbage)  # fmt: skip
            self._unclean = False
        return manifest

    def _seal(self, now: int, *, everything: bool) -> None:
        """Once for each hour that becomes due; the log also seals at each full hour."""
        due_until = (now - self._delay) // HOUR_MS
        if everything or due_until > self._sealed_until:
            self._wal.seal()
            self._sealed_until = due_until

    def _publish_days(self, due: Mapping[str, Sequence[int]], now: int) -> int:
        published = 0
        hours = [hour for each in due.values() for hour in each]
        total = self._pending.samples(self._pending.sources(self._of_log(), hours))
        with self._progress.work("publishing", total) as step:
            for each in due.values():
                done = self._attempt(partial(self._publish_day, each, now))
                published += done
                step(done)
        return published

    def _publish_day(self, hours: Sequence[int], now: int) -> int:
        manifest, pending = self._of_log(), self._pending
        sources = pending.sources(manifest, hours)
        expected = pending.samples(sources)
        registry, numbers = self._series(manifest)
        publication = DayPublication(
            self._storage, manifest, registry, numbers, sources, self._settings.batch_samples
        )
        self._commit(publication.run(now, expected, pending.upto(), pending.oldest()))
        registry.settle(self._loaded().series)
        self.totals.add(publication.dropped)
        event(logger, logging.INFO, "published", day=day_name(hours[0]), hours=len(hours),
              samples=expected, publication=manifest.publication + 1)  # fmt: skip
        return expected

    def _series(self, manifest: Manifest) -> tuple[SeriesRegistry, SeriesIdMap]:
        if self._registry is None or self._numbers is None:
            self._registry = SeriesRegistry(self._storage, manifest.series)
            self._numbers = SeriesIdMap(self._wal.series, self._registry)
        return self._registry, self._numbers

    def _commit(self, manifest: Manifest) -> None:
        write_manifest(self._storage, manifest)
        self._manifest = manifest

    def _remove_published(self) -> None:
        done = self._pending.done(self._of_log())
        misplaced = self._pending.misplaced(done)
        if misplaced:
            event(logger, logging.ERROR, "dropped samples with a time outside 1970 to 9998",
                  samples=misplaced)  # fmt: skip
        self.totals.misplaced += misplaced
        if done:
            self._wal.remove(done)

    def _compact(self, now: int) -> int:
        days = scattered_days(self._loaded(), now, self._delay)
        done = sum(self._attempt(partial(self._compact_day, name, now)) for name in days)
        merged = compact_series(self._storage, self._loaded(), now)
        if merged is not None:
            self._commit(merged)
            self._registry = self._numbers = None  # they refer to replaced files
        return done

    def _compact_day(self, name: str, now: int) -> int:
        self._commit(compact_day(self._storage, self._loaded(), name, now, self._progress))
        event(logger, logging.INFO, "compacted", day=name)
        return 1

    def _retain(self, now: int) -> int:
        names = expired_days(self._loaded(), self._settings.retention, now, self._delay)
        if names:
            self._commit(without_days(self._loaded(), names, now))
            event(logger, logging.INFO, "deleted days", days=len(names), until=names[-1])
        grace = round(self._settings.grace * 1000)
        self._manifest = delete_retired(self._storage, self._loaded(), now, grace)
        return len(names)

    @property
    def _delay(self) -> int:
        return round(self._settings.delay * 1000)
