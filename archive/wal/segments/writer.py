"""Writes a segment. Only the process that created a segment appends to it."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Sequence
from pathlib import Path

from archive.wal import fsync
from archive.wal.segments.segment import (
    HEADER_BYTES,
    Segment,
    SegmentHeader,
    framed,
    framed_size,
    pack_header,
    segment_path,
)

# Space allocated ahead by writing zero bytes. Overwriting allocated bytes does not change file
# system metadata, so a sync does not wait for the journal and the writes of other processes.
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
        """The name is durable at once, the header with the first record."""
        path = segment_path(folder, header.number)
        descriptor = fsync.create_file(path)
        try:
            fsync.write_at(descriptor, [pack_header(header)], 0)
            fsync.sync_folder(folder)
        except OSError:
            os.close(descriptor)
            with contextlib.suppress(OSError):  # the first error is raised
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
        """Writes into the allocated space; returns the descriptor to sync before `settle`.

        After an OSError of the write or the sync, call only `close`.
        """
        fsync.write_at(self._descriptor, framed(record), self._durable)
        return self._descriptor

    def settle(self, record: bytes) -> None:
        """Call it after the sync of a written record."""
        self._durable += framed_size(record)

    def append(self, record: bytes) -> None:
        """Durable when it returns. After an OSError call only `close`.

        A second sync could succeed wrongly: the kernel drops pages that it could not write.
        """
        parts = framed(record)
        end, fits = self._durable + framed_size(record), self.fits(record)
        if not fits or not fsync.write_through(self._descriptor, parts, self._durable):
            if fits or not self._prepare(parts, end):
                fsync.write_at(self._descriptor, parts, self._durable)
            fsync.sync_data(self._descriptor)
        self._durable = end

    def fits(self, record: bytes) -> bool:
        """Whether the record fits the allocated space."""
        return self._durable + framed_size(record) <= self._prepared

    def _prepare(self, parts: Sequence[bytes], end: int) -> bool:
        """Writes them and allocates space behind; False when the disk is too full for that."""
        try:
            fsync.write_at(self._descriptor, [*parts, bytes(_BLANK_BYTES)], self._durable)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            return False
        self._prepared = end + _BLANK_BYTES
        return True

    def close(self) -> None:
        """Truncates the file to its durable bytes, if the disk permits.

        Otherwise zero bytes do no harm, and a failed record is read as if it were acknowledged:
        the sender retries it, and publication removes the duplicate.
        """
        with contextlib.suppress(OSError):
            os.ftruncate(self._descriptor, self._durable)
        with contextlib.suppress(OSError):  # all records are synced
            os.close(self._descriptor)
