"""What of a segment cannot be read: damage inside, and a torn write at the end."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import BinaryIO

_BLOCK = 1 << 20


class EndingKind(StrEnum):
    CLEAN = "clean"
    """All records can be read. Only allocated space follows."""
    TORN = "torn"
    """The last record is incomplete, so it was never acknowledged."""
    DAMAGED = "damaged"
    """Complete bytes cannot be read."""


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes that were completely written and cannot be read now."""

    offset: int
    size: int
    reason: str

    def __str__(self) -> str:
        return f"{self.reason} at byte {self.offset}: {self.size} bytes are not read"


@dataclass(frozen=True, slots=True)
class Ending:
    offset: int
    """The end of the last valid record, in bytes."""
    torn: int = 0
    """Bytes of an incomplete record behind it."""
    damage: tuple[Damage, ...] = ()

    @property
    def kind(self) -> EndingKind:
        if self.damage:
            return EndingKind.DAMAGED
        return EndingKind.TORN if self.torn else EndingKind.CLEAN

    @property
    def damaged_bytes(self) -> int:
        return sum(each.size for each in self.damage)

    def __str__(self) -> str:
        faults = [str(each) for each in self.damage]
        if self.torn:
            faults.append(
                f"ends inside a record at byte {self.offset}: {self.torn} bytes are not read"
            )
        return "; ".join(faults) or f"intact ({self.offset} bytes)"


def written_after(file: BinaryIO, offset: int) -> int:
    """Bytes from `offset` to the last byte that is not zero.

    The last byte of a complete record is not zero, and writes go from front to back.
    """
    file.seek(offset)
    written = seen = 0
    while block := file.read(_BLOCK):
        used = len(block.rstrip(b"\0"))
        if used:
            written = seen + used
        seen += len(block)
    return written
