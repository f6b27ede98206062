"""The log as a sequence of segments: appends to the last one, removes published ones.

All methods block and are thread-safe.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from archive.batch import Batch
from archive.series.table import SeriesTable
from archive.settings.wal import WalSettings
from archive.wal import fsync
from archive.wal.errors import WalUnavailableError
from archive.wal.record import encode_group
from archive.wal.record_definitions import pack_definitions
from archive.wal.recovery import Recovery
from archive.wal.segments.reader import check_segment
from archive.wal.segments.segment import Segment, SegmentHeader, segment_number
from archive.wal.segments.tail_check import EndingKind
from archive.wal.segments.writer import SegmentWriter
from archive.wal.series_checkpoint import SeriesCheckpoint
from streamgauge.serving.logs import event
from streamgauge.serving.settings.sizes import format_size

logger = logging.getLogger(__name__)

DAMAGED_SUFFIX = ".damaged"
# Samples, messages and new series. Preparing as many takes as long as decoding a large request.
SMALL_GROUP = 10_000
_HOUR = 3_600_000


class _Sealed(NamedTuple):
    segment: Segment
    next_series: int
    """It defines no series with this id or a higher one."""


class Prepared(NamedTuple):
    """A group of requests, ready to be written."""

    record: bytes
    received: int
    """When its first request was received, in milliseconds."""
    next_series: int
    """Series with a lower id are defined once it is written."""


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
        self._damaged = {
            segment_number(each.path): each.ending.damaged_bytes for each in recovery.dropped
        }
        self._lock = threading.Lock()
        # A separate lock: appending must not wait for a slow save of the table.
        self._checkpoint_lock = threading.Lock()

    @property
    def size(self) -> int:
        """Bytes of all segments."""
        return sum(segment.size for segment in self._segments())

    @property
    def oldest(self) -> int | None:
        """When the oldest record of the log was received, in milliseconds; None when empty."""
        return min((segment.created for segment in self._segments()), default=None)

    @property
    def damaged(self) -> int:
        """Bytes that could not be read since the start."""
        return sum(self._damaged.copy().values())

    def is_small(self, batches: Sequence[Batch]) -> bool:
        """Whether a group is small enough to be prepared on the event loop."""
        samples = sum(len(batch.series) for batch in batches)
        messages = sum(len(batch.opaque) for batch in batches)
        return samples + messages + len(self._series) - self._defined <= SMALL_GROUP

    def prepare(self, batches: Sequence[Batch]) -> Prepared:
        """Encodes a group as a record, with all definitions that are not durable yet.

        These include the definitions of a failed group, which later groups may use. Therefore
        prepare a group only after the group before it was written or has failed.
        """
        end = len(self._series)
        added = list(self._series.ids(self._defined, end)) if end > self._defined else []
        new = pack_definitions(self._series, added) if added else None
        return Prepared(encode_group(new, batches), batches[0].received, end)

    def write(self, prepared: Prepared) -> None:
        """Durable when it returns. Raises WalUnavailableError when nothing was stored."""
        try:
            with self._lock:
                self._append(prepared.record, prepared.received)
                self._defined = prepared.next_series
        except OSError as error:
            raise self._unavailable(error) from error

    def begin(self, prepared: Prepared) -> int | None:
        """Writes a group that fits the allocated space; returns the descriptor to sync.

        Holds the lock of the log until `end` or `give_up`. None when `write` must be used.
        Raises WalUnavailableError.
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
        """Call it after the sync. Raises WalUnavailableError when it failed."""
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
        """Call it when the sync did not start: the group counts as not written."""
        self._lock.release()

    def seal(self) -> Segment | None:
        """Closes the open segment for publication; None when it is empty."""
        with self._lock:
            sealed = self._seal()
        self._save_series()
        return sealed

    def sealed_segments(self) -> list[Segment]:
        """Oldest first."""
        with self._lock:
            return [self._sealed[number].segment for number in sorted(self._sealed)]

    def remove(self, segments: Iterable[Segment]) -> None:
        """Removes published segments. Raises WalUnavailableError."""
        with self._lock:
            removed = [
                self._sealed[each.number] for each in segments if each.number in self._sealed
            ]
        try:
            self._save_definitions(removed)
            for segment, _ in removed:
                self._damaged[segment.number] = _remove(segment)
                with self._lock:
                    del self._sealed[segment.number]
            fsync.sync_folder(self._folder)
        except OSError as error:
            raise self._unavailable(error) from error

    def idle_series(self, before: int, now: int) -> list[int]:
        """Series without a sample since `before` that no record of the log uses.

        The time of a series without a known sample begins now, and of one seen later than now: the
        clock was set back.
        """
        oldest = self.oldest
        ids = np.fromiter(self._series.ids(0, self._defined), np.int64)
        seen = self._series.last_seen.of(ids)
        self._series.last_seen.mark(ids[(seen == 0) | (seen > now)], now)
        limit = before if oldest is None else min(before, oldest)
        found: list[int] = ids[(seen > 0) & (seen < limit)].tolist()
        return found

    def forget(self, ids: Sequence[int]) -> None:
        """Forgets these series on disk, then in memory. Raises WalUnavailableError.

        Also saves when the others were last seen.
        """
        try:
            with self._checkpoint_lock:
                # First: a series that comes again gets a new id, and must not be found twice.
                self._checkpoint.rewrite(self._series, self._defined, self._next, ids)
                if ids:
                    self._series.forget(ids)
        except OSError as error:
            raise self._unavailable(error) from error

    def _save_definitions(self, removed: list[_Sealed]) -> None:
        """Saves the definitions and the numbers of segments before their removal.

        Writes only if necessary, so that removal works on a full disk.
        """
        series = max((each.next_series for each in removed), default=0)
        with self._checkpoint_lock:
            if (
                self._checkpoint.covered < series
                or self._checkpoint.next_segment <= self._highest_of(removed)
            ):
                self._checkpoint.save(self._series, self._defined, self._next)

    def _highest_of(self, removed: list[_Sealed]) -> int:
        """The highest number that only these segments record; 0 while a later segment exists."""
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
        """Publishing frees space, and needs some for its own work."""
        status = os.statvfs(self._folder)
        free = status.f_bavail * status.f_frsize
        if free < self._settings.reserve:
            reserve = format_size(self._settings.reserve)
            raise WalUnavailableError(f"{self._folder}: less than {reserve} free (wal.reserve)")

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
        """Closes the segment: after a failed write or sync nothing may follow in it."""
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
            self._next += 1  # left by an attempt that could not be undone
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
        """Adds it to the sealed segments, or deletes it when it is empty."""
        if writer.is_empty:
            with contextlib.suppress(OSError):  # removed at the next start
                writer.path.unlink()
            return None
        self._sealed[writer.segment.number] = _Sealed(writer.segment, self._defined)
        return writer.segment

    def _save_series(self) -> None:
        """Saves early, for a fast start; `remove` requires it."""
        try:
            with self._checkpoint_lock:
                if self._checkpoint.covered < self._defined:
                    self._checkpoint.save(self._series, self._defined, self._next)
        except OSError as error:
            event(logger, logging.WARNING, "cannot save the series table", error=error)


def _remove(segment: Segment) -> int:
    """Deletes a segment; renames a damaged one, so that its data can be examined.

    Returns the number of damaged bytes.
    """
    try:
        ending = check_segment(segment.path)
    except FileNotFoundError:
        return 0  # removed by an earlier attempt
    if ending.kind is not EndingKind.DAMAGED:
        segment.path.unlink()
        return 0
    aside = segment.path.with_name(segment.path.name + DAMAGED_SUFFIX)
    segment.path.rename(aside)
    event(
        logger,
        logging.ERROR,
        "damaged segment of the write-ahead log renamed",
        file=str(aside),
        damage=str(ending),
    )
    return ending.damaged_bytes
