"""Reads 8-byte words and varint timestamps at many positions of a buffer with numpy."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from archive.remote_write.protobuf import Buffer

Words = NDArray[np.uint64]
Places = NDArray[np.int64]

WORD: Final = 8
"""Bytes of a word."""
TIME_SIZE: Final = 6
"""Bytes of a varint time in milliseconds, for the years 1971 to 2109."""

# Mask of a word that ends with a field tag and a varint of six bytes; the first byte is free.
_TAG_AND_TIME: Final = np.uint64(0x80_80_80_80_80_80_FF_00)
_CONTINUED: Final = 0x00_80_80_80_80_80_00_00
# Masks to join six groups of seven bits, first to three groups of fourteen.
_EVEN: Final = np.uint64(0x00_7F_00_7F_00_7F)
_ODD: Final = np.uint64(0x7F_00_7F_00_7F_00)
_PAIRS: Final = tuple(np.uint64(0x3FFF << 16 * place) for place in range(3))
_LITTLE: Final = np.dtype("<u8")
_ONE, _TWO, _FOUR, _SIXTEEN = (np.uint64(count) for count in (1, 2, 4, 16))


def words_of(buffer: Buffer) -> Words:
    """A word at every byte offset; the buffer needs padding behind the content."""
    return np.ndarray((len(buffer) - 7,), _LITTLE, buffer=buffer, strides=(1,))


def times_in(words: Words) -> NDArray[np.int64]:
    """The varint in the last six bytes of each word."""
    groups = words >> _SIXTEEN
    pairs = (groups & _EVEN) | ((groups & _ODD) >> _ONE)
    first, second, third = _PAIRS
    times = (pairs & first) | ((pairs & second) >> _TWO) | ((pairs & third) >> _FOUR)
    found: NDArray[np.int64] = times.view(np.int64)
    return found


def end_in_time(words: Words, tag: int) -> NDArray[np.bool_]:
    """Which words end with this tag and a varint of exactly six bytes."""
    ended: NDArray[np.bool_] = (words & _TAG_AND_TIME) == np.uint64(_CONTINUED | tag << 8)
    return ended


def time_in(word: int) -> int:
    """`times_in` for one word."""
    time = 0
    for group in range(TIME_SIZE):
        time |= (word >> 8 * group + 16 & 0x7F) << 7 * group
    return time


def ends_in_time(word: int, tag: int) -> bool:
    """`end_in_time` for one word."""
    return word & int(_TAG_AND_TIME) == _CONTINUED | tag << 8
