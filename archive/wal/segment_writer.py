"""Writing a segment: appended to by the process that made it, and by no later one."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Sequence
from pathlib import Path

from archive.wal import fsync
from archive.wal.segment import (
    HEADER_BYTES,
    Segment,
    SegmentHeader,
    framed,
    framed_size,
    pack_header,
    segment_path,
)

# Space that is made ready ahead, with blank bytes that are really written: a sync of bytes that
# take the place of others need not wait for the file system's journal, and with it for everybody
# else's changes.
_BLANK_BYTES = 256 * 1024


class SegmentWriter:
    def __init__(self, path: Path, header: SegmentHeader, descriptor: int) -> None:
        self.path = path
        self.header = header
        self._descriptor = descriptor
        self._durable = HEADER_BYTES
        self._prepared = HEADER_BYTES

    @classmethod
    def create(cls, folder: Path, header: SegmentHeader) -> SegmentWriter:
        """The header becomes durable with the first record, its name at once."""
        path = segment_path(folder, header.number)
        descriptor = fsync.create_file(path)
        try:
            fsync.write_at(descriptor, [pack_header(header)], 0)
            fsync.sync_folder(folder)
        except OSError:
            os.close(descriptor)
            with contextlib.suppress(OSError):  # the error that counts is on its way
                path.unlink()
            raise
        return cls(path, header, descriptor)

    @property
    def segment(self) -> Segment:
        header = self.header
        return Segment(self.path, header.number, self._durable, header.created)

    @property
    def is_empty(self) -> bool:
        return self._durable == HEADER_BYTES

    def write(self, record: bytes) -> int:
        """What it has room for, not durable yet: the descriptor to sync before `settle`.

        After an OSError, of this or of the sync, only `close` may follow.
        """
        fsync.write_at(self._descriptor, framed(record), self._durable)
        return self._descriptor

    def settle(self, record: bytes) -> None:
        """What was written has been synced."""
        self._durable += framed_size(record)

    def append(self, record: bytes) -> None:
        """Durable when it returns. After an OSError only `close` may follow.

        A second attempt to sync would lie: the kernel forgets what it could not write.
        """
        parts = framed(record)
        end, fits = self._durable + framed_size(record), self.fits(record)
        if not fits or not fsync.write_through(self._descriptor, parts, self._durable):
            if fits or not self._prepare(parts, end):
                fsync.write_at(self._descriptor, parts, self._durable)
            fsync.sync_data(self._descriptor)
        self._durable = end

    def fits(self, record: bytes) -> bool:
        """Whether it takes no more of the disk than the segment has already."""
        return self._durable + framed_size(record) <= self._prepared

    def _prepare(self, parts: Sequence[bytes], end: int) -> bool:
        """Writes them with blank space behind; False when the disk has no room for so much."""
        try:
            fsync.write_at(self._descriptor, [*parts, bytes(_BLANK_BYTES)], self._durable)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            return False
        self._prepared = end + _BLANK_BYTES
        return True

    def close(self) -> None:
        """What is durable stays. What follows it is cut off where the disk lets us.

        Where not: blank space does no harm, and a record that failed is read as if it had been
        acknowledged; the sender repeats it, and it counts once.
        """
        with contextlib.suppress(OSError):
            os.ftruncate(self._descriptor, self._durable)
        with contextlib.suppress(OSError):  # everything that counts was synced
            os.close(self._descriptor)
