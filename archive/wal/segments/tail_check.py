"""How the valid part of a segment ends: cleanly, in a torn write, or by damage."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import BinaryIO

_BLOCK = 1 << 20


class EndingKind(StrEnum):
    CLEAN = "clean"
    """Nothing follows the last record, or only allocated space."""
    TORN = "torn"
    """The last record is incomplete, so it was never acknowledged."""
    DAMAGED = "damaged"
    """A complete record follows and cannot be read."""


@dataclass(frozen=True, slots=True)
class Ending:
    kind: EndingKind
    offset: int
    """The end of the valid part, in bytes."""
    dropped: int = 0
    """Bytes behind it, without zero bytes at the end of the file."""
    reason: str = ""

    def __str__(self) -> str:
        if self.kind is EndingKind.CLEAN:
            return f"intact ({self.offset} bytes)"
        return f"{self.reason} at byte {self.offset}: {self.dropped} bytes after it are not read"


def ending_at(file: BinaryIO, offset: int, expected_end: int, reason: str) -> Ending:
    """Classifies an unreadable record at `offset` that would end at `expected_end`.

    The last byte of a complete record is not zero, and writes go from front to back.
    """
    dropped = _written_after(file, offset)
    if not dropped:
        return Ending(EndingKind.CLEAN, offset)
    if offset + dropped < expected_end:
        return Ending(EndingKind.TORN, offset, dropped, "ends inside a record")
    return Ending(EndingKind.DAMAGED, offset, dropped, reason)


def _written_after(file: BinaryIO, offset: int) -> int:
    """Bytes from `offset` to the last byte that is not zero."""
    file.seek(offset)
    written = seen = 0
    while block := file.read(_BLOCK):
        used = len(block.rstrip(b"\0"))
        if used:
            written = seen + used
        seen += len(block)
    return written
