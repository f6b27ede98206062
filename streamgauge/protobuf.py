"""Writes the Protocol Buffers wire format, and the messages of remote write 1.0 in it."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

VARINT: Final = 0
FIXED64: Final = 1
LENGTH: Final = 2

_WORD: Final = (1 << 64) - 1
_BITS: Final = struct.Struct("<Q")
_DOUBLE: Final = struct.Struct("<d")


def write_varint(value: int) -> bytes:
    out = bytearray()
    value &= _WORD
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def write_message(number: int, content: bytes) -> bytes:
    """A length-delimited field: text or a message."""
    return write_varint(number << 3 | LENGTH) + write_varint(len(content)) + content


def write_number(number: int, value: int) -> bytes:
    """Empty for zero, the default value."""
    return write_varint(number << 3 | VARINT) + write_varint(value) if value else b""


def write_bits(number: int, bits: int) -> bytes:
    """A float64 by its bits; empty for zero."""
    return write_varint(number << 3 | FIXED64) + _BITS.pack(bits) if bits else b""


def write_double(number: int, value: float) -> bytes:
    return write_bits(number, _BITS.unpack(_DOUBLE.pack(value))[0])


def write_labels(labels: Mapping[str, str]) -> bytes:
    """Of a series; in the order that remote write demands."""
    return b"".join(
        write_message(
            1, write_message(1, name.encode()) + write_message(2, text.encode("utf-8", "replace"))
        )
        for name, text in sorted(labels.items())
    )


def write_sample(value: float, milliseconds: int) -> bytes:
    return write_message(2, write_double(1, value) + write_number(2, milliseconds))
