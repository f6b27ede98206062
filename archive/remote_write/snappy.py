"""The snappy block format, as remote write uses it: the size is looked at before anything grows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import cramjam

from archive.remote_write.protobuf import MalformedError, read_varint

SLACK = 64
"""Bytes behind the content that a reader of whole words may touch."""
_BUFFER_SIZE = 4 << 20


class Unpacker:
    """Unpacks one body after the other, usually into the same memory."""

    def __init__(self, max_size: int) -> None:
        self._max_size = max_size
        self._buffer = bytearray(_BUFFER_SIZE + SLACK)

    def unpack(self, bodies: Sequence[bytes]) -> tuple[bytearray, list[int]]:
        """One behind the other: the memory, and where each ends; good until the next call."""
        ends = list(accumulate(map(self.size_of, bodies)))
        memory = self._buffer if ends[-1] <= _BUFFER_SIZE else bytearray(ends[-1] + SLACK)
        begin = 0
        for body, end in zip(bodies, ends, strict=True):
            _unpack(body, memoryview(memory)[begin:end])
            begin = end
        return memory, ends

    def size_of(self, body: bytes) -> int:
        """What the body says it unpacks to; refused when that is more than we take."""
        try:
            size, _ = read_varint(body, 0, min(len(body), 5))
        except MalformedError:
            raise MalformedError("the body is no snappy block: it has no size") from None
        if size > self._max_size:
            raise MalformedError(f"the body unpacks to {size} bytes, more than {self._max_size}")
        return size


def _unpack(body: bytes, into: memoryview) -> None:
    try:
        written = cramjam.snappy.decompress_raw_into(body, into)
    except (cramjam.DecompressionError, ValueError) as error:
        raise MalformedError(f"the body is no snappy block: {error}") from error
    if written != len(into):
        raise MalformedError(f"the body holds {written} bytes and announces {len(into)}")
