"""Maintenance after a publication: compaction, retention, upkeep of the tables."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping
from typing import NamedTuple

from archive.maintenance.compaction import compact_day, compact_series, is_scattered, scattered_days
from archive.maintenance.data_clock import DataClock
from archive.maintenance.retention import expired_days, forgotten_series, without_days
from archive.maintenance.upkeep import Upkeep
from archive.progress import Progress
from archive.settings.publishing import PublishSettings
from archive.tables.archive_tables import ArchiveTables
from archive.tables.data_file import Change
from archive.tables.delta_log import ConflictError
from archive.tables.schema import HOUR_MS, SERIES
from archive.tables.series import SeriesRegistry
from archive.tables.storage import StorageError
from streamgauge.serving.logs import event

logger = logging.getLogger(__name__)


class Maintained(NamedTuple):
    compacted: int = 0  # days
    deleted: int = 0  # days


class Maintenance:
    """Runs once for each hour that becomes due, and after a publication."""

    def __init__(
        self, tables: ArchiveTables, settings: PublishSettings, progress: Progress
    ) -> None:
        self.is_due = True
        self._conflicts = 0
        self._tables, self._settings, self._progress = tables, settings, progress
        self._upkeep = Upkeep(tables, settings.retention)
        self._clock = DataClock()
        self._delay = round(settings.delay * 1000)
        self._done_until = 0
        self._deleted_until = ""  # the newest deleted day, until its series are forgotten

    @property
    def conflicts(self) -> int:
        return self._conflicts + self._upkeep.conflicts

    @property
    def clock_ahead(self) -> int:
        """By how much the clock of the host is ahead of the data, in milliseconds."""
        return self._clock.ahead

    def run(self, now: int) -> Maintained:
        """Raises the first error at the end: a damaged day must not block the others."""
        due_until = (now - self._delay) // HOUR_MS
        if due_until == self._done_until and not self.is_due:
            return Maintained()
        errors: list[StorageError] = []
        compacted = self._compact(now, errors)
        deleted = self._retain(now)
        self._upkeep.run(now, self._clock)
        for error in errors:
            raise error
        self._done_until, self.is_due = due_until, False
        return Maintained(compacted, deleted)

    def _compact(self, now: int, errors: list[StorageError]) -> int:
        snapshot = self._tables.read()
        self._commit(
            {SERIES: compact_series(self._tables.storage, snapshot, _stamp())}, data_change=False
        )
        scattered = list(scattered_days(snapshot, now, self._delay))
        done = set()
        with self._progress.work("compacting", len(scattered)) as step:
            for table, day in scattered:
                try:
                    if self._compact_day(table, day):
                        done.add(day)
                except StorageError as error:
                    errors.append(error)
                step(1)
        for day in sorted(done):
            event(logger, logging.INFO, "compacted", day=day)
        return len(done)

    def _compact_day(self, table: str, day: str) -> bool:
        """From the version of the table on which the commit is based."""
        snapshot = self._tables.read()
        files = snapshot.of_day(table, day)
        if not is_scattered(files):
            return False
        ranks = SeriesRegistry(self._tables.storage, snapshot.files[SERIES]).ranks()
        change = compact_day(self._tables.storage, table, files, ranks, _stamp())
        return self._commit({table: change}, data_change=False)

    def _retain(self, now: int) -> int:
        snapshot = self._tables.read()
        proven = self._clock.compare(snapshot.days, now)
        days = expired_days(snapshot, self._settings.retention, now, self._delay, proven)
        if days and self._commit(without_days(snapshot, days)):
            self._deleted_until = days[-1]
            event(logger, logging.INFO, "deleted days", days=len(days), until=days[-1])
        else:
            days = []
        if self._deleted_until:
            self._forget(self._deleted_until)
        return len(days)

    def _forget(self, until: str) -> None:
        """Series without data are removed; their ids are not assigned again."""
        change = forgotten_series(self._tables.storage, self._tables.read(), until, _stamp())
        if self._commit({SERIES: change}):
            self._deleted_until = ""

    def _commit(self, changes: Mapping[str, Change], *, data_change: bool = True) -> bool:
        """Another writer that commits first makes the change void; the next run repeats it."""
        try:
            for table, change in changes.items():
                if change:
                    self._tables.logs[table].commit(change, {}, data_change=data_change)
        except ConflictError as error:
            self._conflicts += 1
            event(logger, logging.INFO, "maintenance postponed", error=error)
            return False
        return True


def _stamp() -> str:
    """A unique part of file names."""
    return secrets.token_hex(8)
