"""The two opaque messages with an OpenMetrics form: metadata of a family, and exemplars.

A minimal protobuf reader and writer for them; it ignores unknown fields.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from archive.tables.series import Labels

# prometheus.MetricMetadata.MetricType by OpenMetrics name.
TYPES: Final = (
    "unknown", "counter", "gauge", "histogram", "gaugehistogram", "summary", "info", "stateset",
)  # fmt: skip


class MessageError(ValueError):
    """The bytes are not a valid message."""


@dataclass(frozen=True, slots=True)
class Metadata:
    family: str
    type: str
    help: str
    unit: str


@dataclass(frozen=True, slots=True)
class Exemplar:
    labels: Labels
    value: float
    time: int


def read_metadata(data: bytes) -> Metadata:
    found = dict(fields(data))
    kind = found.get(1, 0)
    return Metadata(
        _text(found.get(2, b"")),
        TYPES[kind] if isinstance(kind, int) and kind < len(TYPES) else "unknown",
        _text(found.get(4, b"")),
        _text(found.get(5, b"")),
    )


def write_metadata(metadata: Metadata) -> bytes:
    return b"".join(
        (
            number_field(1, TYPES.index(metadata.type)),
            length_field(2, metadata.family.encode()),
            length_field(4, metadata.help.encode()),
            length_field(5, metadata.unit.encode()),
        )
    )


def read_exemplar(data: bytes) -> Exemplar:
    labels, value, time = [], 0.0, 0
    for number, content in fields(data):
        if number == 1 and isinstance(content, bytes):
            pair = dict(fields(content))
            labels.append((_text(pair.get(1, b"")), _text(pair.get(2, b""))))
        elif number == 2 and isinstance(content, float):
            value = content
        elif number == 3 and isinstance(content, int):
            time = content - (1 << 64) if content >> 63 else content
    return Exemplar(tuple(labels), value, time)


def write_exemplar(exemplar: Exemplar) -> bytes:
    pairs = (
        length_field(1, key.encode()) + length_field(2, text.encode())
        for key, text in exemplar.labels
    )
    return b"".join(
        (
            *(length_field(1, pair) for pair in pairs),
            b"\x11" + struct.pack("<d", exemplar.value),
            number_field(3, exemplar.time),
        )
    )


def fields(data: bytes) -> Iterator[tuple[int, int | float | bytes]]:
    place = 0
    while place < len(data):
        tag, place = varint(data, place)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            content, place = varint(data, place)
            yield number, content
        elif kind == 1 and place + 8 <= len(data):
            yield number, struct.unpack_from("<d", data, place)[0]
            place += 8
        elif kind == 2:
            length, place = varint(data, place)
            if place + length > len(data):
                raise MessageError("ends inside a field")
            yield number, data[place : place + length]
            place += length
        else:
            raise MessageError(f"has a field of kind {kind}")


def varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(data):
            raise MessageError("ends inside a number")
        value |= (data[place] & 0x7F) << shift
        place += 1
        if not data[place - 1] & 0x80:
            return value, place
    raise MessageError("has a number of more than ten bytes")


def number_field(field: int, value: int) -> bytes:
    return _encoded(field << 3) + _encoded(value & (1 << 64) - 1) if value else b""


def length_field(field: int, content: bytes) -> bytes:
    return _encoded(field << 3 | 2) + _encoded(len(content)) + content if content else b""


def _encoded(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _text(content: int | float | bytes) -> str:
    if not isinstance(content, bytes):
        raise MessageError("has a number where a text belongs")
    return content.decode(errors="replace")
