"""The bytes of a plain series in a request, with blank value and time."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from archive.remote_write.v1.label_cache import VALUED, ZERO, Slot
from streamgauge.protobuf import LENGTH, write_varint

_TAG: Final = 1 << 3 | LENGTH
# Tag, length and, for a value, its tag. The tag of the time is part of the time word.
_SAMPLES: Final = {VALUED: b"\x12\x10\x09" + bytes(15), ZERO: b"\x12\x07" + bytes(7)}
_OTHER_SIZE: Final = {VALUED: ZERO, ZERO: VALUED}


def template_of(slot: Slot, size: int) -> bytes:
    """With a sample of this size, or of the other size when the header cannot encode this one."""
    raw = slot.raw
    header = _header(len(raw) + size)
    if len(header) != slot.header:
        size = _OTHER_SIZE[size]
        header = _header(len(raw) + size)
    return header + raw + _SAMPLES[size]


@lru_cache(maxsize=1024)  # many series have labels of the same length
def _header(size: int) -> bytes:
    return write_varint(_TAG) + write_varint(size)
