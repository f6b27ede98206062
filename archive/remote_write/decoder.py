"""Decompresses and decodes the body of a write request, remote write 1.0 or 2.0."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import partial
from itertools import accumulate
from typing import Final

import cramjam

from archive.remote_write.protobuf import MalformedError, read_varint
from archive.remote_write.request_accumulator import RequestAccumulator
from archive.remote_write.result import Decoded
from archive.remote_write.v1.connection_cursor import ConnectionCursor
from archive.remote_write.v1.decoder import DecoderV1
from archive.remote_write.v1.label_identity import LabelIdentities
from archive.remote_write.v2.decoder import DecoderV2
from archive.series.labels import LabelRules
from archive.series.live import LiveSeries
from archive.series.table import SeriesTable
from archive.settings.limits import Limits

INLINE_SIZE: Final = 4 << 20
"""Decompressed bytes up to which a request is decoded on the event loop; most have one or two MiB.

The worst case is a crafted request that is read field by field: less than two seconds at this size.
"""
SLACK: Final = 64
"""Padding behind the content for readers of 8-byte words."""
_BUFFER_SIZE: Final = 4 << 20


class Version(Enum):
    V1 = "1.0"
    V2 = "2.0"


class Decoder:
    """Not thread-safe: every request updates its caches."""

    def __init__(self, limits: Limits, replica_label: str, numbers: SeriesTable) -> None:
        self.live = LiveSeries(numbers, limits.live_series)
        self._limits = limits
        self._rules = LabelRules.of(limits, replica_label)
        self._unpacker = Unpacker(limits.decoded)
        self._v1 = DecoderV1(LabelIdentities(self._rules, numbers, self.live))
        self._v2 = DecoderV2()
        self._cursor = ConnectionCursor()

    def size_of(self, body: bytes) -> int | None:
        """The decompressed size; None when the body is not snappy or exceeds the limit."""
        try:
            return self._unpacker.size_of(body)
        except MalformedError:
            return None

    def decode(
        self,
        version: Version,
        body: bytes,
        sender: str,
        now: int,
        cursor: ConnectionCursor | None = None,
    ) -> Decoded:
        """`now` in milliseconds. Raises MalformedError when the body is not a write request.

        `cursor` belongs to the connection; requests without one share a cursor.
        """
        memory, (size,) = self._unpacker.unpack((body,))
        accumulator = RequestAccumulator(self._limits, self._rules, self.live, now)
        if version is Version.V1:
            self._v1.decode(memory, size, accumulator, cursor or self._cursor)
        else:
            self._v2.decode(memory, size, accumulator)
        return accumulator.finish(sender)

    def decode_batch(
        self, bodies: Sequence[bytes], cursors: Sequence[ConnectionCursor], sender: str, now: int
    ) -> Decoded | None:
        """Decodes 1.0 requests as one; None when they must be decoded one by one."""
        accumulator = RequestAccumulator(self._limits, self._rules, self.live, now)
        try:
            memory, ends = self._unpacker.unpack(bodies)
            plain = self._v1.decode_plain(memory, ends, cursors, accumulator)
        except MalformedError:
            return None
        if not plain or accumulator.refusals:
            return None
        return accumulator.finish(sender)

    def forget_metadata(self) -> None:
        """Call it when a request could not be stored, so that its metadata is accepted again."""
        self._v1.metadata.clear()
        self._v2.metadata.clear()
        self._v2.cache.forget_metadata()

    def forget_unused(self, now: int) -> int:
        """Evicts series without recent samples from the caches; returns how many."""
        are_alive = partial(self.live.are_alive, now=now)
        return self._v1.table.forget(are_alive) + self._v2.cache.forget(are_alive)

    def forget_series(self) -> None:
        """Call it before the series table forgets series that are not alive."""
        self._v1.forget_series()
        self._v2.cache.clear()

    @property
    def remembered(self) -> int:
        return len(self._v1.table) + len(self._v2.cache)


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
