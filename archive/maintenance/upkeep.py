"""Upkeep of the tables: checkpoints, clean-up of their logs, and vacuum."""

from __future__ import annotations

import logging
from typing import Final

from archive.maintenance.data_clock import DataClock
from archive.settings.publishing import RetentionSettings
from archive.tables.archive_tables import ArchiveTables, TableLog
from archive.tables.delta_log import ConflictError
from archive.tables.schema import DAY_MS
from streamgauge.serving.logs import event

logger = logging.getLogger(__name__)

# A reader opens the newest checkpoint and at most this many commits after it.
CHECKPOINT_COMMITS: Final = 20


class Upkeep:
    """Checkpoints when they are due; the rest once a day and after a start."""

    def __init__(self, tables: ArchiveTables, settings: RetentionSettings) -> None:
        self._tables, self._settings = tables, settings
        self.conflicts = 0
        self._checkpoints: dict[str, int] = {}
        self._last = -DAY_MS
        self._longest = max(DAY_MS, round(settings.replaced * 1000))

    def run(self, now: int, clock: DataClock) -> None:
        # The clock may have been set back. Set forward, it must not delete what readers hold.
        is_daily = not 0 <= now - self._last < DAY_MS and clock.measures(self._longest)
        for log in self._tables.logs.values():
            try:
                self._tend(log, is_daily=is_daily)
            except ConflictError as error:
                self.conflicts += 1
                event(logger, logging.INFO, "upkeep postponed", error=error)
        if is_daily:
            self._last = now

    def _tend(self, log: TableLog, *, is_daily: bool) -> None:
        log.read()
        if log.version >= self._checkpoints.get(log.name, 0) + CHECKPOINT_COMMITS:
            log.checkpoint()
            self._checkpoints[log.name] = log.version
        if not is_daily:
            return
        deleted = log.vacuum(self._settings.replaced)
        if deleted:
            event(logger, logging.INFO, "deleted unused files", table=log.name, files=len(deleted))
        log.read()
        log.drop_old_versions()
