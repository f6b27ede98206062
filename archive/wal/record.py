"""Encodes and decodes a group of requests as one record; WAL.md specifies the format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import cramjam
import msgspec
import numpy as np
from numpy.typing import NDArray

from archive.batch import Batch, Opaque, OpaqueKind, SeriesDefinition
from archive.wal.record_columns import (
    NOTHING,
    Column,
    pack_bits,
    pack_column,
    unpack_bits,
    unpack_column,
)
from archive.wal.record_definitions import Definitions, check_definitions, unpack_definitions

Number = TypeVar("Number", np.uint32, np.int64, np.uint64)


@dataclass(frozen=True, slots=True)
class WalRecord:
    """One request as read from the log, and the series definitions before it.

    This request and all later ones may use these definitions.
    """

    batch: Batch
    packed: Definitions | None = None

    @property
    def definitions(self) -> tuple[SeriesDefinition, ...]:
        """Decoded on access: a reader with a series table does not need them."""
        return unpack_definitions(self.packed) if self.packed else ()


class RecordError(ValueError):
    """The checksum is right, but the bytes are not a valid record."""


class _Request(msgspec.Struct, array_like=True, frozen=True):
    sender: str
    received: int
    samples: int
    has_starts: bool
    opaque: int


class _Opaque(msgspec.Struct, array_like=True, frozen=True):
    kinds: Column
    series: Column
    times: Column
    data: list[bytes]


class _Group(msgspec.Struct, array_like=True, frozen=True):
    requests: list[_Request]
    definitions: Definitions | None
    series: Column
    times: Column
    values: memoryview
    starts: Column
    opaque: _Opaque | None


# Everything that decoding invalid bytes can raise.
_NONSENSE = (ValueError, OverflowError, msgspec.MsgspecError, cramjam.DecompressionError)

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Group)


def encode_group(definitions: Definitions | None, batches: Sequence[Batch]) -> bytes:
    """The definitions belong to the first request."""
    starts = [batch.starts for batch in batches if batch.starts is not None]
    group = _Group(
        [_request(batch) for batch in batches],
        definitions,
        pack_column(_joined([batch.series for batch in batches]).astype(np.int64)),
        pack_column(_joined([batch.times for batch in batches])),
        memoryview(pack_bits(_joined([batch.values for batch in batches]))),
        pack_column(_joined(starts)) if starts else NOTHING,
        _packed_opaque([each for batch in batches for each in batch.opaque]),
    )
    return bytes(cramjam.lz4.compress_block(_encoder.encode(group)))


def decode_group(data: bytes | memoryview) -> Iterator[WalRecord]:
    """The requests of a group in order. Raises RecordError only before the first one."""
    try:
        group = _decode(data)
        columns = _Columns(group)
        if group.definitions is not None:
            check_definitions(group.definitions)
    except _NONSENSE as error:
        raise RecordError(str(error)) from error
    return _records(group, columns)


def decode_definitions(data: bytes | memoryview) -> Definitions | None:
    """Only the packed definitions of a group."""
    try:
        return _decode(data).definitions
    except _NONSENSE as error:
        raise RecordError(str(error)) from error


def _decode(data: bytes | memoryview) -> _Group:
    return _decoder.decode(cramjam.lz4.decompress_block(data))


def _request(batch: Batch) -> _Request:
    return _Request(
        batch.sender,
        batch.received,
        len(batch.series),
        batch.starts is not None,
        len(batch.opaque),
    )


class _Columns:
    """The columns of a group; every request is a range of each."""

    def __init__(self, group: _Group) -> None:
        samples = sum(request.samples for request in group.requests)
        started = sum(request.samples for request in group.requests if request.has_starts)
        self.series = unpack_column(group.series, samples).astype(np.uint32)
        self.times = unpack_column(group.times, samples)
        self.values = unpack_bits(group.values, samples)
        self.starts = unpack_column(group.starts, started)
        self.opaque = _unpacked_opaque(group.opaque)
        if len(self.opaque) != sum(request.opaque for request in group.requests):
            raise ValueError("opaque messages are missing or too many")


def _records(group: _Group, columns: _Columns) -> Iterator[WalRecord]:
    definitions = group.definitions
    sample = started = opaque = 0
    for request in group.requests:
        end = sample + request.samples
        starts = None
        if request.has_starts:
            starts = columns.starts[started : started + request.samples]
            started += request.samples
        batch = Batch(
            request.sender,
            request.received,
            columns.series[sample:end],
            columns.times[sample:end],
            columns.values[sample:end],
            starts,
            columns.opaque[opaque : opaque + request.opaque],
        )
        yield WalRecord(batch, definitions)
        sample, opaque, definitions = end, opaque + request.opaque, None


def _joined(columns: Sequence[NDArray[Number]]) -> NDArray[Number]:
    return columns[0] if len(columns) == 1 else np.concatenate(columns)


def _packed_opaque(messages: Sequence[Opaque]) -> _Opaque | None:
    if not messages:
        return None
    return _Opaque(
        pack_column(np.array([each.kind for each in messages], np.int64)),
        pack_column(np.array([each.series for each in messages], np.int64)),
        pack_column(np.array([each.time for each in messages], np.int64)),
        [each.data for each in messages],
    )


def _unpacked_opaque(packed: _Opaque | None) -> tuple[Opaque, ...]:
    if packed is None:
        return ()
    count = len(packed.data)
    kinds = map(OpaqueKind, unpack_column(packed.kinds, count).tolist())
    series = unpack_column(packed.series, count).tolist()
    times = unpack_column(packed.times, count).tolist()
    return tuple(map(Opaque, kinds, series, times, packed.data))
