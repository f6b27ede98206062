"""Encodes columns of numbers for compression: deltas in zigzag form, split into byte planes."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

_BYTES = 8


class Column(msgspec.Struct, array_like=True, frozen=True):
    """Integers. Without `planes`: an arithmetic sequence from `first` with `step`.

    With them: zigzag deltas as `step` byte planes, lowest bytes first. Upper planes that are
    zero are omitted.
    """

    first: int
    step: int
    planes: bytes = b""


NOTHING = Column(0, 0)
"""An empty column."""


def pack_column(numbers: NDArray[np.int64]) -> Column:
    if not len(numbers):
        return NOTHING
    first = int(numbers[0])
    if len(numbers) == 1:
        return Column(first, 0)
    # A delta that overflows wraps around, and the sum wraps back.
    steps = numbers[1:] - numbers[:-1]
    step = int(steps[0])
    if step == steps[-1] and not np.count_nonzero(steps != step):
        return Column(first, step)
    zigzag = ((steps << 1) ^ (steps >> 63)).view(np.uint64)
    width = (int(np.bitwise_or.reduce(zigzag)).bit_length() + 7) // 8
    return Column(first, width, _split(zigzag, width))


def unpack_column(column: Column, count: int) -> NDArray[np.int64]:
    if not column.planes:
        return column.first + column.step * np.arange(count, dtype=np.int64)
    zigzag = _joined(column.planes, count - 1, column.step)
    halves, signs = (zigzag >> np.uint64(1)).view(np.int64), (zigzag & np.uint64(1)).view(np.int64)
    numbers = np.empty(count, np.int64)
    numbers[0] = column.first
    np.bitwise_xor(halves, -signs, out=numbers[1:])
    return np.cumsum(numbers, out=numbers)


def pack_bits(bits: NDArray[np.uint64]) -> bytes:
    """Values without useful deltas: only split into byte planes."""
    return _split(bits, _BYTES)


def unpack_bits(planes: bytes | memoryview, count: int) -> NDArray[np.uint64]:
    return _joined(planes, count, _BYTES)


def _split(numbers: NDArray[np.uint64], width: int) -> bytes:
    rows = np.ascontiguousarray(numbers, "<u8").view(np.uint8).reshape(-1, _BYTES)
    return rows[:, :width].T.tobytes()


def _joined(planes: bytes | memoryview, count: int, width: int) -> NDArray[np.uint64]:
    if not 0 < width <= _BYTES or len(planes) != count * width:
        raise ValueError(f"{len(planes)} bytes are not {count} numbers of {width} bytes")
    single = np.frombuffer(planes, np.uint8)
    if width == 1:
        return single.astype(np.uint64)
    rows = np.zeros((count, _BYTES), np.uint8)
    rows[:, :width] = single.reshape(width, count).T
    return rows.reshape(-1).view("<u8").astype(np.uint64, copy=False)
