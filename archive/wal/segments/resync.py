"""Finds the next valid record behind damage."""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from archive.wal.segments.segment import END_MARK, FRAME_BYTES, unframe

_BLOCK: Final = 1 << 20
_LENGTH_BYTES: Final = 4


def next_frame(path: Path, start: int) -> int | None:
    """The position of the first valid frame from `start` on.

    Three checks must agree: the checksum of the length, the checksum of the record, the end mark.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return next((at for at in _candidates(data, start) if _is_frame(data, at)), None)


def _candidates(data: mmap.mmap, start: int) -> Iterator[int]:
    """Positions whose length leads to an end mark: about one in ten thousand of other bytes."""
    last = len(data) - FRAME_BYTES - len(END_MARK)  # the shortest record has one byte
    for begin in range(start, last, _BLOCK):
        end = min(begin + _BLOCK, last)
        block = np.frombuffer(data[begin : end + _LENGTH_BYTES - 1], np.uint8).astype(np.int64)
        count = end - begin
        lengths = sum(block[place : place + count] << 8 * place for place in range(_LENGTH_BYTES))
        positions = np.arange(begin, end, dtype=np.int64)
        marks = positions + FRAME_BYTES + lengths
        for at, mark in zip(
            *(each[(lengths > 0) & (marks < len(data))].tolist() for each in (positions, marks)),
            strict=True,
        ):
            if data[mark] == END_MARK[0]:
                yield at


def _is_frame(data: mmap.mmap, at: int) -> bool:
    frame = unframe(data[at : at + FRAME_BYTES])
    if frame is None:
        return False
    length, checksum = frame
    begin = at + FRAME_BYTES
    return zlib.crc32(data[begin : begin + length]) == checksum
