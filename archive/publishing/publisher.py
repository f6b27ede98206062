"""Publishes the write-ahead log to the tables, and runs their maintenance.

Everything here blocks, so it runs in a thread.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from archive.maintenance.schedule import Maintenance
from archive.progress import NoProgress, Progress
from archive.publishing.coverage import Coverage
from archive.publishing.log_commits import LogCommits
from archive.publishing.log_id import log_id
from archive.publishing.pending_segments import PendingSegments
from archive.publishing.publication import DroppedSamples
from archive.publishing.series_ids import SeriesDefinitions
from archive.settings.publishing import PublishSettings
from archive.tables.archive_tables import ArchiveTables
from archive.tables.arrow import pa
from archive.tables.delta_log import ConflictError
from archive.tables.schema import HOUR_MS
from archive.wal.segments.segment import Segment
from streamgauge.serving.logs import event

logger = logging.getLogger(__name__)

# Each conflict means that another writer made progress.
_ATTEMPTS: Final = 20
_LONGEST_PAUSE: Final = 0.2


class SegmentLog(Protocol):
    """The methods of the write-ahead log that publication uses."""

    @property
    def series(self) -> SeriesDefinitions: ...
    @property
    def oldest(self) -> int | None: ...
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
    """Publishes one log. A failed call can be repeated safely.

    Several publishers may write to the same tables: the one that loses a commit reads them again
    and continues from the position that they cover.
    """

    def __init__(
        self,
        tables: ArchiveTables,
        wal: SegmentLog,
        settings: PublishSettings,
        progress: Progress | None = None,
        *,
        owns_log: bool = True,
    ) -> None:
        """Without `owns_log` nothing is written to the log folder."""
        self._conflicts = 0
        self.last_success: int | None = None
        self._tables, self._wal, self._settings = tables, wal, settings
        self._progress, self._owns_log = progress or NoProgress(), owns_log
        self._pending = PendingSegments()
        self._commits = LogCommits(tables, wal.series, settings.batch_samples)
        self._maintenance = Maintenance(tables, settings, self._progress)
        self._lock = threading.Lock()  # the publication at shutdown may overlap another one

    @property
    def totals(self) -> DroppedSamples:
        return self._commits.totals

    @property
    def conflicts(self) -> dict[str, int]:
        """Commits that another writer came before, by kind of work."""
        return {"publish": self._conflicts, "maintenance": self._maintenance.conflicts}

    @property
    def clock_ahead(self) -> int:
        """By how much the clock of the host is ahead of the data, in milliseconds."""
        return self._maintenance.clock_ahead

    def publish_due(self, now: int) -> Published:
        """Publishes the log if it has data of a past hour; then compacts and deletes old days."""
        return self._guarded(partial(self._publish_due, now), now)

    def publish_all(self, now: int) -> Published:
        """Publishes the whole log, with open hours, for a clean shutdown."""
        return self._guarded(self._publish, now)

    def _guarded(self, work: Callable[[], Published], now: int) -> Published:
        with self._lock:
            try:
                done = work()
            except BaseException:
                self._commits.forget()
                raise
            finally:
                pa.default_memory_pool().release_unused()  # the next publication is an hour away
            self.last_success = now
            return done

    def _publish_due(self, now: int) -> Published:
        delay = round(self._settings.delay * 1000)
        oldest = self._wal.oldest
        is_due = oldest is not None and oldest // HOUR_MS < (now - delay) // HOUR_MS
        done = self._publish() if is_due else Published()
        tended = self._maintenance.run(now)
        return Published(done.hours, done.samples, tended.compacted, tended.deleted)

    def _publish(self) -> Published:
        self._wal.seal()
        self._pending.scan(self._wal.sealed_segments())
        if not self._pending.segments:
            return Published()
        log = log_id(self._pending.segments[0].path.parent, create=self._owns_log)
        self._commits.failed.clear()
        self._maintenance.is_due = True
        done = self._retried(log)
        self._remove_published(log)
        for error in self._commits.failed.values():
            raise error
        return done

    def _retried(self, log: str) -> Published:
        hours = samples = conflicts = 0
        with self._progress.work("publishing", self._pending.every_sample) as step:
            while True:
                try:
                    done = self._commits.publish_next(self._pending, log)
                except ConflictError as error:
                    conflicts += 1
                    self._lost(error, is_last=conflicts == _ATTEMPTS)
                    continue
                if done is None:
                    return Published(hours, samples)
                hours, samples = hours + done.hours, samples + done.samples
                step(done.samples)

    def _lost(self, error: ConflictError, *, is_last: bool) -> None:
        self._conflicts += 1
        self._commits.forget()
        if is_last:
            raise error
        event(logger, logging.INFO, "another writer committed first, trying again", error=error)
        time.sleep(random.uniform(0, _LONGEST_PAUSE))  # noqa: S311  spreads two writers

    def _remove_published(self, log: str) -> None:
        self._tables.read()
        done = self._pending.done(Coverage(self._tables, log))
        misplaced = self._pending.misplaced(done)
        if misplaced:
            event(logger, logging.ERROR, "dropped samples with a time outside 1970 to 9998",
                  samples=misplaced)  # fmt: skip
        self.totals.misplaced += misplaced
        if done:
            self._wal.remove(done)
