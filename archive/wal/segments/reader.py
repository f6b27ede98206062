"""Reads the valid records of a segment, and reports how it ends.

Never writes, so a segment may be read while the server appends to it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from archive.wal.errors import WalFormatError
from archive.wal.record import RecordError, WalRecord, decode_group
from archive.wal.segments.segment import (
    END_MARK,
    FRAME_BYTES,
    HEADER_BYTES,
    BrokenHeaderError,
    SegmentHeader,
    unframe,
    unpack_header,
)
from archive.wal.segments.tail_check import Ending, EndingKind, ending_at


class SegmentFrames:
    """The encoded records of a segment; `ending` is set after the last one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header: SegmentHeader | None = None
        self.offset = 0
        self._ending: Ending | None = None

    @property
    def ending(self) -> Ending:
        if self._ending is None:
            raise RuntimeError(f"{self.path} was not read to its end")
        return self._ending

    def __iter__(self) -> Iterator[bytes]:
        """Starts at the beginning each time."""
        self.offset, self._ending = 0, None
        with self.path.open("rb") as file:
            if not self._read_header(file):
                return
            while (record := self._next(file)) is not None:
                yield record
                # After the yield, so that a record that the reader refuses does not count as valid.
                self.offset = file.tell()

    def refuse(self, reason: str) -> None:
        """Ends here: the last record has a valid checksum and invalid content."""
        with self.path.open("rb") as file:
            self._ending = ending_at(file, self.offset, self.offset, reason)

    def _read_header(self, file: BinaryIO) -> bool:
        try:
            self.header = unpack_header(file.read(HEADER_BYTES))
        except BrokenHeaderError:
            # Even a complete header is useless without a record.
            self._ending = ending_at(file, 0, HEADER_BYTES + 1, "has a damaged header")
            return False
        except WalFormatError as error:
            raise WalFormatError(f"{self.path} {error}") from None
        self.offset = HEADER_BYTES
        return True

    def _next(self, file: BinaryIO) -> bytes | None:
        """None at the end of the valid records; then `ending` has the reason."""
        begin = self.offset
        frame = unframe(file.read(FRAME_BYTES))
        if frame is None:
            self._ending = ending_at(file, begin, begin + FRAME_BYTES + 1, "has a damaged length")
            return None
        length, checksum = frame
        record, mark = file.read(length), file.read(len(END_MARK))
        if mark != END_MARK or zlib.crc32(record) != checksum:
            end = begin + FRAME_BYTES + length + len(END_MARK)
            self._ending = ending_at(file, begin, end, "has a record whose checksum is wrong")
            return None
        return record


class SegmentReader:
    """Iterates over the requests of a segment once; afterwards `ending` is set."""

    def __init__(self, path: Path) -> None:
        self._frames = SegmentFrames(path)
        self._records = self._read()

    def __iter__(self) -> SegmentReader:
        return self

    def __next__(self) -> WalRecord:
        return next(self._records)

    @property
    def ending(self) -> Ending:
        return self._frames.ending

    def _read(self) -> Iterator[WalRecord]:
        for record in self._frames:
            try:
                requests = decode_group(record)
            except RecordError as error:
                self._frames.refuse(f"has a record that makes no sense ({error})")
                return
            yield from requests


def read_segment(path: Path) -> SegmentReader:
    """The requests of a segment in the order in which they were acknowledged."""
    return SegmentReader(path)


def check_segment(path: Path) -> Ending:
    """How a segment ends; checks only the checksums."""
    frames = SegmentFrames(path)
    for _ in frames:
        pass
    return frames.ending


__all__ = [
    "Ending",
    "EndingKind",
    "SegmentFrames",
    "SegmentReader",
    "check_segment",
    "read_segment",
]
