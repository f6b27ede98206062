"""Reads the Protocol Buffers wire format: varints and fields, without a schema.

Readers skip unknown fields, as the standard allows, and raise MalformedError for everything else.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from streamgauge.protobuf import FIXED64, LENGTH, VARINT

FIXED32: Final = 5

_WORD: Final = (1 << 64) - 1
_MAX_VARINT_BITS: Final = 63  # ten bytes of seven bits
_HIGHEST_FIELD: Final = (1 << 29) - 1
_SIZES: Final = {FIXED64: 8, FIXED32: 4}
_DOUBLE: Final = struct.Struct("<d")
_BITS: Final = struct.Struct("<Q")

Buffer = bytes | bytearray


class MalformedError(Exception):
    """The bytes are not a message of the announced kind; nothing of them is stored."""


class Field(NamedTuple):
    """One field: the value of a varint, or the position of the content in the buffer."""

    number: int
    wire: int
    value: int
    start: int
    stop: int


def read_varint(buffer: Buffer, at: int, stop: int) -> tuple[int, int]:
    """The number, cut to 64 bits as in every implementation, and its end."""
    value = shift = 0
    while at < stop:
        byte = buffer[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _WORD, at
        shift += 7
        if shift > _MAX_VARINT_BITS:
            raise MalformedError("a number is longer than ten bytes")
    raise MalformedError("the message ends inside a number")


def read_fields(buffer: Buffer, at: int, stop: int) -> Iterator[Field]:
    while at < stop:
        tag, at = read_varint(buffer, at, stop)
        number, wire = tag >> 3, tag & 7
        value, start = 0, at
        if not 0 < number <= _HIGHEST_FIELD:
            raise MalformedError(f"a field has the number {number}")
        if wire == VARINT:
            value, end = read_varint(buffer, at, stop)
        elif wire == LENGTH:
            size, start = read_varint(buffer, at, stop)
            end = start + size
        elif wire in _SIZES:
            end = at + _SIZES[wire]
        else:
            raise MalformedError(f"field {number} has the unknown wire type {wire}")
        if end > stop:
            raise MalformedError(f"field {number} is longer than the message that holds it")
        yield Field(number, wire, value, start, end)
        at = end


def expect(field: Field, wire: int, name: str) -> None:
    if field.wire != wire:
        raise MalformedError(f"{name} has the wire type {field.wire}, not {wire}")


def double_bits(buffer: Buffer, at: int) -> int:
    """The bits of a float64, so that NaN payloads are preserved."""
    bits: int = _BITS.unpack_from(buffer, at)[0]
    return bits


def double(buffer: Buffer, at: int) -> float:
    value: float = _DOUBLE.unpack_from(buffer, at)[0]
    return value


def signed(value: int) -> int:
    """An int64 from its varint."""
    return value - (1 << 64) if value >> 63 else value


def zigzag(value: int) -> int:
    """A sint32 or sint64 from its varint."""
    return (value >> 1) ^ -(value & 1)


def packed_varints(buffer: Buffer, field: Field, name: str) -> Iterator[int]:
    """The numbers of a repeated field, packed or not: readers must accept both."""
    if field.wire == VARINT:
        yield field.value
        return
    expect(field, LENGTH, name)
    at = field.start
    while at < field.stop:
        value, at = read_varint(buffer, at, field.stop)
        yield value


def packed_doubles(buffer: Buffer, field: Field, name: str) -> Iterator[float]:
    if field.wire == FIXED64:
        yield double(buffer, field.start)
        return
    expect(field, LENGTH, name)
    if (field.stop - field.start) % 8:
        raise MalformedError(f"{name} is no whole number of float64")
    for at in range(field.start, field.stop, 8):
        yield double(buffer, at)
