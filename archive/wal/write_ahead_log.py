"""The front door of the write-ahead log: what was appended to it outlives this process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from archive.batch import Batch, SeriesDefinition
from archive.series.table import SeriesTable
from archive.settings.wal import WalSettings
from archive.wal.errors import WalUnavailableError
from archive.wal.folder_lock import FolderLock
from archive.wal.group_commit import Done, GroupCommit
from archive.wal.recovery import Recovery, recover
from archive.wal.segment import Segment
from archive.wal.segment_log import SegmentLog
from archive.wal.series_checkpoint import SeriesCheckpoint
from archive.wal.tail_check import EndingKind
from streamgauge.serving.logs import event

logger = logging.getLogger(__name__)


class Wal:
    """`append` and `series.identify` are for the event loop's thread, the rest for any.

    `seal` and `remove` wait for the disk, so they are not for the event loop.
    """

    def __init__(
        self,
        lock: FolderLock,
        log: SegmentLog,
        series: SeriesTable,
        recovery: Recovery,
        retry: float,
    ) -> None:
        self.series = series
        self.recovery = recovery
        self._lock = lock
        self._log = log
        self._commit = GroupCommit(log, retry)

    @classmethod
    def open(
        cls, folder: Path, settings: WalSettings, *, least_segment: int = 1, least_series: int = 0
    ) -> Wal:
        """Takes the folder and reads what is in it. Waits for the disk.

        `least_segment` and `least_series` are the first numbers that what was published has not
        used: without them a log that was lost would give the same numbers to other things.
        Raises WalLockedError, WalUnavailableError or WalFormatError.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = FolderLock(folder)
        except OSError as error:
            raise WalUnavailableError(f"{folder}: {error.strerror or error}") from error
        try:
            return cls._recovered(lock, folder, settings, least_segment, least_series)
        except OSError as error:
            lock.release()
            raise WalUnavailableError(f"{folder}: {error.strerror or error}") from error
        except BaseException:
            lock.release()
            raise

    @classmethod
    def _recovered(
        cls,
        lock: FolderLock,
        folder: Path,
        settings: WalSettings,
        least_segment: int,
        least_series: int,
    ) -> Wal:
        series, checkpoint = SeriesTable(), SeriesCheckpoint(folder)
        recovery = recover(folder, series, checkpoint)
        recovery.next_segment = max(recovery.next_segment, least_segment)
        series.skip_to(least_series)
        _log_recovery(folder, recovery, series)
        for path in recovery.empty:
            path.unlink(missing_ok=True)
        log = SegmentLog(folder, settings, series, checkpoint, recovery)
        return cls(lock, log, series, recovery, settings.retry)

    async def append(self, definitions: Iterable[SeriesDefinition], batch: Batch) -> None:
        """Returns when the batch is on the disk, and the definitions of its series before it.

        WalUnavailableError: nothing is kept, the sender must come again. Definitions of series
        that `series.identify` numbered need not be given: the log writes what it has not yet.
        """
        self.series.adopt(definitions)
        _check(batch, len(self.series))
        await self._commit.append(batch)

    def append_soon(self, batch: Batch, done: Done) -> None:
        """The same for who does not wait: `done` is told when it is on the disk, or why not.

        Where that is known at once it raises as `append` does, and `done` is told nothing.
        """
        _check(batch, len(self.series))
        self._commit.append_soon(batch, done)

    def seal(self) -> Segment | None:
        return self._log.seal()

    def sealed_segments(self) -> list[Segment]:
        return self._log.sealed_segments()

    def remove(self, segments: Sequence[Segment]) -> None:
        self._log.remove(segments)

    @property
    def size(self) -> int:
        return self._log.size

    @property
    def oldest(self) -> int | None:
        return self._log.oldest

    @property
    def unavailable(self) -> str:
        """Why nothing can be kept at the moment; empty when all is well."""
        return self._commit.unavailable

    async def close(self) -> None:
        """After the last append: seals what is open and lets the folder go."""
        await self._commit.close()
        await asyncio.to_thread(self._log.seal)
        self._lock.release()


def _check(batch: Batch, series: int) -> None:
    """A mistake of ours must fail here, for one request, and not spoil the log."""
    columns = (batch.series, batch.times, batch.values, batch.starts)
    lengths = {len(column) for column in columns if column is not None}
    if len(lengths) > 1:
        raise ValueError(f"columns of different lengths: {sorted(lengths)}")
    highest = int(np.maximum.reduce(batch.series, initial=0))
    if highest >= series and len(batch.series):
        raise ValueError(f"series {highest} is not defined")


def _log_recovery(folder: Path, recovery: Recovery, series: SeriesTable) -> None:
    for fault in recovery.faults:
        event(logger, logging.ERROR, "the table of series is damaged", fault=fault)
    for dropped in recovery.dropped:
        torn = dropped.ending.kind is EndingKind.TORN
        level = logging.WARNING if torn else logging.ERROR
        event(logger, level, f"the end of a segment is {dropped.ending.kind}", segment=str(dropped))
    event(
        logger,
        logging.INFO,
        "write-ahead log opened",
        folder=str(folder),
        segments=len(recovery.segments),
        bytes=sum(segment.size for segment in recovery.segments),
        series=series.known,
    )
