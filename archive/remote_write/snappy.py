"""Decompresses snappy blocks; checks the announced size before allocating memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import cramjam

from archive.remote_write.protobuf import MalformedError, read_varint

SLACK = 64
"""Padding behind the content for readers of 8-byte words."""
_BUFFER_SIZE = 4 << 20


class Unpacker:
    """Decompresses bodies, usually into the same buffer."""

    def __init__(self, max_size: int) -> None:
        self._max_size = max_size
        self._buffer = bytearray(_BUFFER_SIZE + SLACK)

    def unpack(self, bodies: Sequence[bytes]) -> tuple[bytearray, list[int]]:
        """Decompresses back to back: the buffer and the end of each body; valid until the next call."""
        ends = list(accumulate(map(self.size_of, bodies)))
        memory = self._buffer if ends[-1] <= _BUFFER_SIZE else bytearray(ends[-1] + SLACK)
        begin = 0
        for body, end in zip(bodies, ends, strict=True):
            _unpack(body, memoryview(memory)[begin:end])
            begin = end
        return memory, ends

    def size_of(self, body: bytes) -> int:
        """The announced decompressed size. Raises MalformedError above the limit."""
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
