"""The format of a segment file: name, header, and the frame of a record."""

from __future__ import annotations

import re
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

from archive.wal.errors import WalFormatError

VERSION = 2
SUFFIX = ".wal"
_MAGIC = b"SGWAL\r\n"  # detects copies with converted line endings
_HEADER = struct.Struct("<7sBQQqI")
_FRAME = struct.Struct("<III")
_NAME = re.compile(rf"([0-9]{{10}}){re.escape(SUFFIX)}")
HEADER_BYTES = _HEADER.size
FRAME_BYTES = _FRAME.size
END_MARK = b"\xff"
# Far above the size of a group: a larger length is invalid.
MAX_RECORD = 1 << 30


class BrokenHeaderError(ValueError):
    """The file does not begin with a valid segment header."""


@dataclass(frozen=True, slots=True)
class SegmentHeader:
    number: int
    first_series: int
    """All series with a lower id are defined before this segment."""
    created: int
    """In milliseconds, by the archive's clock; no record of it is older."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment file. Its number is its position in the log, and is never reused."""

    path: Path
    number: int
    size: int
    """Durable bytes."""
    created: int


def segment_path(folder: Path, number: int) -> Path:
    return folder / f"{number:010}{SUFFIX}"


def segment_number(path: Path) -> int | None:
    """None for other files."""
    found = _NAME.fullmatch(path.name)
    return int(found[1]) if found else None


def segment_paths(folder: Path) -> dict[int, Path]:
    """All segment files of the folder, oldest first; empty without the folder."""
    if not folder.is_dir():
        return {}
    numbered = ((segment_number(path), path) for path in folder.iterdir())
    return dict(sorted((number, path) for number, path in numbered if number is not None))


def pack_header(header: SegmentHeader) -> bytes:
    fields = (_MAGIC, VERSION, header.number, header.first_series, header.created)
    return _HEADER.pack(*fields, zlib.crc32(_HEADER.pack(*fields, 0)[:-4]))


def unpack_header(data: bytes) -> SegmentHeader:
    """Raises BrokenHeaderError on damage, WalFormatError for another format version."""
    if len(data) < HEADER_BYTES:
        raise BrokenHeaderError("ends inside its header")
    magic, version, number, first_series, created, checksum = _HEADER.unpack_from(data)
    if magic != _MAGIC or checksum != zlib.crc32(data[: HEADER_BYTES - 4]):
        raise BrokenHeaderError("has a damaged header")
    if version != VERSION:
        raise WalFormatError(f"is of format {version}, and this program reads format {VERSION}")
    return SegmentHeader(number, first_series, created)


def read_header(path: Path) -> SegmentHeader:
    with path.open("rb") as file:
        return unpack_header(file.read(HEADER_BYTES))


def framed(record: bytes) -> tuple[bytes, bytes, bytes]:
    """The frame of a record: length, checksum, checksum of these two, record, end mark.

    The second checksum validates the length. The end mark distinguishes an incomplete write
    from later damage.
    """
    head = struct.pack("<II", len(record), zlib.crc32(record))
    return head + struct.pack("<I", zlib.crc32(head)), record, END_MARK


def framed_size(record: bytes) -> int:
    return FRAME_BYTES + len(record) + len(END_MARK)


def unframe(head: bytes) -> tuple[int, int] | None:
    """Length and checksum of the record; None for an invalid frame."""
    if len(head) < FRAME_BYTES:
        return None
    length, checksum, own = _FRAME.unpack(head)
    if own != zlib.crc32(head[:8]) or not 0 < length <= MAX_RECORD:
        return None
    return length, checksum
