"""The log as a chain of segments: groups go to its end, sealed segments leave at its beginning.

Everything blocks, and everything may be called by any thread.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from archive.batch import Batch
from archive.series.table import SeriesTable
from archive.settings.wal import WalSettings
from archive.wal import fsync
from archive.wal.errors import WalUnavailableError
from archive.wal.record import encode_group
from archive.wal.record_definitions import pack_definitions
from archive.wal.recovery import Recovery
from archive.wal.segment import Segment, SegmentHeader
from archive.wal.segment_reader import check_segment
from archive.wal.segment_writer import SegmentWriter
from archive.wal.series_checkpoint import SeriesCheckpoint
from archive.wal.tail_check import EndingKind
from streamgauge.serving.logs import event
from streamgauge.serving.settings.sizes import format_size

logger = logging.getLogger(__name__)

DAMAGED_SUFFIX = ".damaged"
# Samples, messages and new series: about as long as a large request takes to be decoded.
SMALL_GROUP = 10_000
_HOUR = 3_600_000


class _Sealed(NamedTuple):
    segment: Segment
    next_series: int
    """It defines no series with this number or a higher one."""


class Prepared(NamedTuple):
    """A group of requests, ready to be written."""

    record: bytes
    received: int
    """When its first request came, in milliseconds."""
    next_series: int
    """Series with a lower number are defined when it is written."""


class SegmentLog:
    def __init__(
        self,
        folder: Path,
        settings: WalSettings,
        series: SeriesTable,
        checkpoint: SeriesCheckpoint,
        recovery: Recovery,
    ) -> None:
        self._folder = folder
        self._settings = settings
        self._series = series
        self._checkpoint = checkpoint
        self._defined = len(series)
        self._next = recovery.next_segment
        self._sealed = {each.number: _Sealed(each, len(series)) for each in recovery.segments}
        self._open: SegmentWriter | None = None
        self._lock = threading.Lock()
        # Of its own: saving the table may take a while, and appending must not wait for it.
        self._checkpoint_lock = threading.Lock()

    @property
    def size(self) -> int:
        """Bytes of all segments."""
        return sum(segment.size for segment in self._segments())

    @property
    def oldest(self) -> int | None:
        """When the oldest record still here was received, in milliseconds; None without any."""
        return min((segment.created for segment in self._segments()), default=None)

    def is_small(self, batches: Sequence[Batch]) -> bool:
        """Whether a group can be prepared between two other things."""
        samples = sum(len(batch.series) for batch in batches)
        messages = sum(len(batch.opaque) for batch in batches)
        return samples + messages + len(self._series) - self._defined <= SMALL_GROUP

    def prepare(self, batches: Sequence[Batch]) -> Prepared:
        """A group as the bytes of a record: with every definition that is not durable yet.

        Whoever brought these: a group that failed takes its own along, and a later one may count
        on them. So a group is prepared when the one before it is written, or has failed.
        """
        end = len(self._series)
        new = pack_definitions(self._series, self._defined, end) if end > self._defined else None
        return Prepared(encode_group(new, batches), batches[0].received, end)

    def write(self, prepared: Prepared) -> None:
        """Durable when it returns; WalUnavailableError when nothing of the group is kept."""
        try:
            with self._lock:
                self._append(prepared.record, prepared.received)
                self._defined = prepared.next_series
        except OSError as error:
            raise self._unavailable(error) from error

    def begin(self, prepared: Prepared) -> int | None:
        """Writes what needs no more of the disk: the descriptor that is to be synced by the caller.

        Until `end` or `give_up` nobody else gets at the log. None when it is a case for `write`.
        Raises WalUnavailableError as that does.
        """
        if not self._lock.acquire(blocking=False):
            return None
        writer = self._open
        if writer is None or not self._fits(writer, prepared):
            self._lock.release()
            return None
        try:
            return writer.write(prepared.record)
        except BaseException as error:
            self._drop(writer)
            self._lock.release()
            if isinstance(error, OSError):
                raise self._unavailable(error) from error
            raise

    def end(self, prepared: Prepared, error: OSError | None) -> None:
        """The sync is done; WalUnavailableError when it failed."""
        writer = self._open
        try:
            if error is not None:
                self._drop(writer)
                raise self._unavailable(error) from error
            if writer is not None:
                writer.settle(prepared.record)
            self._defined = prepared.next_series
        finally:
            self._lock.release()

    def give_up(self) -> None:
        """There was no sync: what was written counts as not written."""
        self._lock.release()

    def seal(self) -> Segment | None:
        """Close the open segment so that it can be published; None when there is nothing in it."""
        with self._lock:
            sealed = self._seal()
        self._save_series()
        return sealed

    def sealed_segments(self) -> list[Segment]:
        """Oldest first."""
        with self._lock:
            return [self._sealed[number].segment for number in sorted(self._sealed)]

    def remove(self, segments: Iterable[Segment]) -> None:
        """For what was published. WalUnavailableError when the disk does not let us."""
        with self._lock:
            removed = [
                self._sealed[each.number] for each in segments if each.number in self._sealed
            ]
        try:
            self._save_definitions(removed)
            for segment, _ in removed:
                _remove(segment)
                with self._lock:
                    del self._sealed[segment.number]
            fsync.sync_folder(self._folder)
        except OSError as error:
            raise self._unavailable(error) from error

    def _save_definitions(self, removed: list[_Sealed]) -> None:
        """What they define must outlive them, and so must the numbers that they had.

        Where that is so already nothing is written: on a full disk removing must still work.
        """
        series = max((each.next_series for each in removed), default=0)
        with self._checkpoint_lock:
            if (
                self._checkpoint.covered < series
                or self._checkpoint.next_segment <= self._highest_of(removed)
            ):
                self._checkpoint.save(self._series, self._defined, self._next)

    def _highest_of(self, removed: list[_Sealed]) -> int:
        """The number that nothing would tell any more; 0 while a later segment tells it."""
        numbers = {each.segment.number for each in removed}
        rest = [each.number for each in self._segments() if each.number not in numbers]
        last = max(numbers, default=0)
        return 0 if last < max(rest, default=0) else last

    def _segments(self) -> list[Segment]:
        writer = self._open
        opened = [writer.segment] if writer is not None and not writer.is_empty else []
        return [*(each.segment for each in self._sealed.copy().values()), *opened]

    def _unavailable(self, error: OSError) -> WalUnavailableError:
        return WalUnavailableError(f"{self._folder}: {error.strerror or error}")

    def _check_space(self) -> None:
        """Publishing is what frees space, and it needs some to do so."""
        status = os.statvfs(self._folder)
        free = status.f_bavail * status.f_frsize
        if free < self._settings.reserve:
            reserve = format_size(self._settings.reserve)
            raise WalUnavailableError(f"{self._folder}: less than {reserve} are free (the reserve)")

    def _append(self, record: bytes, received: int) -> None:
        if self._open is not None and self._is_full(self._open.segment, received):
            self._seal()
        if self._open is None or not self._open.fits(record):
            self._check_space()
        writer = self._open or self._begin(received)
        try:
            writer.append(record)
        except OSError:
            self._drop(writer)
            raise

    def _drop(self, writer: SegmentWriter | None) -> None:
        """After a failed write or sync nothing may follow in the same segment."""
        self._open = None
        if writer is not None:
            writer.close()
            self._keep(writer)

    def _fits(self, writer: SegmentWriter, prepared: Prepared) -> bool:
        is_full = self._is_full(writer.segment, prepared.received)
        return not is_full and writer.fits(prepared.record)

    def _is_full(self, segment: Segment, received: int) -> bool:
        other_hour = segment.created // _HOUR != received // _HOUR
        return other_hour or segment.size >= self._settings.segment_size

    def _begin(self, received: int) -> SegmentWriter:
        number = self._next
        try:
            writer = SegmentWriter.create(
                self._folder, SegmentHeader(number, self._defined, received)
            )
        except FileExistsError:
            self._next += 1  # left behind by an attempt that could not even be undone
            raise
        self._next += 1
        self._open = writer
        return writer

    def _seal(self) -> Segment | None:
        writer, self._open = self._open, None
        if writer is None:
            return None
        writer.close()
        return self._keep(writer)

    def _keep(self, writer: SegmentWriter) -> Segment | None:
        """Among the sealed, or nowhere when there is nothing in it."""
        if writer.is_empty:
            with contextlib.suppress(OSError):  # left behind, it is removed at the next start
                writer.path.unlink()
            return None
        self._sealed[writer.segment.number] = _Sealed(writer.segment, self._defined)
        return writer.segment

    def _save_series(self) -> None:
        """Early, for a fast start; `remove` insists on it."""
        try:
            with self._checkpoint_lock:
                if self._checkpoint.covered < self._defined:
                    self._checkpoint.save(self._series, self._defined, self._next)
        except OSError as error:
            event(logger, logging.WARNING, "the table of series could not be saved", error=error)


def _remove(segment: Segment) -> None:
    """A damaged one is put aside: what nobody could read may still be worth something."""
    try:
        ending = check_segment(segment.path)
    except FileNotFoundError:
        return  # as far as we came the last time
    if ending.kind is not EndingKind.DAMAGED:
        segment.path.unlink()
        return
    aside = segment.path.with_name(segment.path.name + DAMAGED_SUFFIX)
    segment.path.rename(aside)
    event(
        logger,
        logging.ERROR,
        "a damaged segment of the write-ahead log is put aside",
        checkpoint=str(aside),
        damage=str(ending),
    )
