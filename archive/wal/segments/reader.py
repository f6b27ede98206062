"""Reads the valid records of a segment, and reports what cannot be read.

Never writes, so a segment may be read while the server appends to it.
"""

from __future__ import annotations

import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import BinaryIO

from archive.wal.errors import WalFormatError
from archive.wal.record import RecordError, WalRecord, decode_group
from archive.wal.segments.resync import next_frame
from archive.wal.segments.segment import (
    END_MARK,
    FRAME_BYTES,
    HEADER_BYTES,
    BrokenHeaderError,
    SegmentHeader,
    unframe,
    unpack_header,
)
from archive.wal.segments.tail_check import Damage, Ending, written_after


class SegmentFrames:
    """The encoded records of a segment; `ending` is set after the last one."""

    def __init__(self, path: Path, *, resync: bool = True) -> None:
        """Without `resync`: reads only up to the first damage."""
        self.path = path
        self.header: SegmentHeader | None = None
        self.damage: list[Damage] = []
        """Found so far."""
        self._resync = resync
        self._valid = 0  # the end of the last valid record
        self._refused = ""
        self._ending: Ending | None = None

    @property
    def ending(self) -> Ending:
        if self._ending is None:
            raise RuntimeError(f"{self.path} was not read to its end")
        return self._ending

    def __iter__(self) -> Iterator[bytes]:
        """Starts at the beginning each time."""
        self.damage, self._valid, self._ending = [], 0, None
        with self.path.open("rb") as file:
            at: int | None = self._read_header(file)
            while at is not None:
                at = yield from self._adjacent(file, at)

    def requests(self) -> Iterator[WalRecord]:
        """The decoded records."""
        for record in self:
            try:
                requests = decode_group(record)
            except RecordError as error:
                self.refuse(f"has a record that makes no sense ({error})")
            else:
                yield from requests

    def refuse(self, reason: str) -> None:
        """The record just read has a valid checksum and invalid content: counts it as damage."""
        self._refused = reason

    def _read_header(self, file: BinaryIO) -> int | None:
        """Where the records begin."""
        try:
            self.header = unpack_header(file.read(HEADER_BYTES))
        except BrokenHeaderError:
            # Even a complete header is useless without a record.
            return self._skip(file, 0, HEADER_BYTES + 1, 1, "has a damaged header")
        except WalFormatError as error:
            raise WalFormatError(f"{self.path} {error}") from None
        self._valid = HEADER_BYTES
        return HEADER_BYTES

    def _adjacent(self, file: BinaryIO, at: int) -> Generator[bytes, None, int | None]:
        """The adjacent records from `at` on; returns where reading can go on."""
        file.seek(at)
        while True:
            frame = unframe(file.read(FRAME_BYTES))
            if frame is None:
                end = at + FRAME_BYTES + len(END_MARK)
                return self._skip(file, at, end, at + 1, "has a damaged length")
            length, checksum = frame
            end = at + FRAME_BYTES + length + len(END_MARK)
            record, mark = file.read(length), file.read(len(END_MARK))
            if mark != END_MARK or zlib.crc32(record) != checksum:
                # The length has a checksum of its own, so the next record begins at `end`.
                return self._skip(file, at, end, end, "has a record whose checksum is wrong")
            yield record
            if self._refused:
                self.damage.append(Damage(at, end - at, self._refused))
                self._refused = ""
            else:
                self._valid = end
            at = end

    def _skip(
        self, file: BinaryIO, at: int, expected_end: int, search_from: int, reason: str
    ) -> int | None:
        """Where the next valid record begins; None, with `ending` set, when there is none."""
        written, found = written_after(file, at), None
        is_damage = at + written >= expected_end  # otherwise it is clean or torn
        if is_damage:
            found = next_frame(self.path, search_from) if self._resync else None
            end = at + written if found is None else found
            self.damage.append(Damage(at, end - at, reason))
        if found is None:
            self._ending = Ending(self._valid, 0 if is_damage else written, tuple(self.damage))
        return found


def read_segment(path: Path) -> Iterator[WalRecord]:
    """The requests of a segment in the order in which they were acknowledged."""
    return SegmentFrames(path).requests()


def check_segment(path: Path) -> Ending:
    """How a segment ends; checks only the checksums."""
    frames = SegmentFrames(path)
    for _ in frames:
        pass
    return frames.ending
