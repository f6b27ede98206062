"""The write-ahead log: durable storage of requests until they are published."""

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
from archive.wal.segments.log import SegmentLog
from archive.wal.segments.segment import Segment
from archive.wal.segments.tail_check import EndingKind
from archive.wal.series_checkpoint import SeriesCheckpoint
from streamgauge.serving.logs import event

logger = logging.getLogger(__name__)


class Wal:
    """Call `append` and `series.identify` only on the event loop, the rest on any thread.

    `seal` and `remove` block, so do not call them on the event loop.
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
    def open(cls, folder: Path, settings: WalSettings, *, least_segment: int = 1) -> Wal:
        """Locks and reads the folder. Blocks.

        `least_segment` is the first number that the published data does not cover: a lost log must
        not assign the same numbers again. Series ids of the log may start again at 0, because the
        archive has ids of its own.
        Raises WalLockedError, WalUnavailableError or WalFormatError.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = FolderLock(folder)
        except OSError as error:
            raise WalUnavailableError(f"{folder}: {error.strerror or error}") from error
        try:
            return cls._recovered(lock, folder, settings, least_segment)
        except OSError as error:
            lock.release()
            raise WalUnavailableError(f"{folder}: {error.strerror or error}") from error
        except BaseException:
            lock.release()
            raise

    @classmethod
    def _recovered(
        cls, lock: FolderLock, folder: Path, settings: WalSettings, least_segment: int
    ) -> Wal:
        series, checkpoint = SeriesTable(), SeriesCheckpoint(folder)
        recovery = recover(folder, series, checkpoint)
        recovery.next_segment = max(recovery.next_segment, least_segment)
        _log_recovery(folder, recovery, series)
        for path in recovery.empty:
            path.unlink(missing_ok=True)
        log = SegmentLog(folder, settings, series, checkpoint, recovery)
        return cls(lock, log, series, recovery, settings.retry)

    async def append(self, definitions: Iterable[SeriesDefinition], batch: Batch) -> None:
        """Returns when the batch and the definitions of its series are durable.

        After a WalUnavailableError nothing is stored, and the sender must retry. Definitions of
        series with an id of `series.identify` are written automatically.
        """
        self.series.adopt(definitions)
        _check(batch, len(self.series))
        await self._commit.append(batch)

    def append_soon(self, batch: Batch, done: Done) -> None:
        """Calls `done` when the batch is durable, or with the error.

        An immediate error is raised instead, as in `append`, and `done` is not called.
        """
        _check(batch, len(self.series))
        self._commit.append_soon(batch, done)

    def seal(self) -> Segment | None:
        return self._log.seal()

    def sealed_segments(self) -> list[Segment]:
        return self._log.sealed_segments()

    def remove(self, segments: Sequence[Segment]) -> None:
        self._log.remove(segments)

    def idle_series(self, before: int, now: int) -> list[int]:
        return self._log.idle_series(before, now)

    def forget(self, ids: Sequence[int]) -> None:
        """Call it while no request is decoded, and caches of the series are empty."""
        self._log.forget(ids)

    @property
    def size(self) -> int:
        return self._log.size

    @property
    def damaged(self) -> int:
        return self._log.damaged

    @property
    def oldest(self) -> int | None:
        return self._log.oldest

    @property
    def unavailable(self) -> str:
        """Why the log cannot store anything now; empty when it can."""
        return self._commit.unavailable

    async def close(self) -> None:
        """Call it after the last append. Seals the open segment and unlocks the folder."""
        await self._commit.close()
        await asyncio.to_thread(self._log.seal)
        self._lock.release()


def _check(batch: Batch, series: int) -> None:
    """An internal error must fail here for one request, not damage the log."""
    columns = (batch.series, batch.times, batch.values, batch.starts)
    lengths = {len(column) for column in columns if column is not None}
    if len(lengths) > 1:
        raise ValueError(f"columns of different lengths: {sorted(lengths)}")
    highest = int(np.maximum.reduce(batch.series, initial=0))
    if highest >= series and len(batch.series):
        raise ValueError(f"series {highest} is not defined")


def _log_recovery(folder: Path, recovery: Recovery, series: SeriesTable) -> None:
    for fault in recovery.faults:
        event(logger, logging.ERROR, "series table of the write-ahead log is damaged", fault=fault)
    for dropped in recovery.dropped:
        torn = dropped.ending.kind is EndingKind.TORN
        level = logging.WARNING if torn else logging.ERROR
        event(
            logger,
            level,
            f"write-ahead log segment is {dropped.ending.kind}",
            segment=str(dropped),
        )
    event(
        logger,
        logging.INFO,
        "write-ahead log opened",
        folder=str(folder),
        segments=len(recovery.segments),
        bytes=sum(segment.size for segment in recovery.segments),
        series=series.known,
    )
