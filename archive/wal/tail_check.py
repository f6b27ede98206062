"""Why the good beginning of a segment ends where it does: its end, a torn write, or damage."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import BinaryIO

_BLOCK = 1 << 20


class EndingKind(StrEnum):
    CLEAN = "clean"
    """Nothing follows the last record, or only space that was made ready for more."""
    TORN = "torn"
    """The last record was not written to its end, so it was never acknowledged."""
    DAMAGED = "damaged"
    """Something follows that was written whole and cannot be read."""


@dataclass(frozen=True, slots=True)
class Ending:
    kind: EndingKind
    offset: int
    """Where the good beginning ends, in bytes."""
    dropped: int = 0
    """How many bytes follow it; blank ones at the end of the file do not count."""
    reason: str = ""

    def __str__(self) -> str:
        if self.kind is EndingKind.CLEAN:
            return f"whole ({self.offset} bytes)"
        return f"{self.reason} at byte {self.offset}: {self.dropped} bytes after it are not read"


def ending_at(file: BinaryIO, offset: int, expected_end: int, reason: str) -> Ending:
    """What is at `offset` cannot be read; were it written whole it would reach `expected_end`.

    The last byte of a whole record is not blank, and a write comes from front to back.
    """
    dropped = _written_after(file, offset)
    if not dropped:
        return Ending(EndingKind.CLEAN, offset)
    if offset + dropped < expected_end:
        return Ending(EndingKind.TORN, offset, dropped, "ends inside a record")
    return Ending(EndingKind.DAMAGED, offset, dropped, reason)


def _written_after(file: BinaryIO, offset: int) -> int:
    """Bytes from there to the last one that is not blank."""
    file.seek(offset)
    written = seen = 0
    while block := file.read(_BLOCK):
        used = len(block.rstrip(b"\0"))
        if used:
            written = seen + used
        seen += len(block)
    return written
