"""A plain series as the bytes of a request, with any value and any time.

All else is the same each time, so many of them are compared at once.
"""

from __future__ import annotations

from typing import Final

from archive.remote_write.protobuf import write_message
from archive.remote_write.v1.label_cache import VALUED, ZERO

_SERIES: Final = 1
# Tag, length and, before a value, its tag. The tag of the time is written with the time.
_SAMPLES: Final = {VALUED: b"\x12\x10\x09" + bytes(15), ZERO: b"\x12\x07" + bytes(7)}
_OTHER_SIZE: Final = {VALUED: ZERO, ZERO: VALUED}


def template_of(raw: bytes, prefix_size: int, size: int) -> tuple[bytes, int]:
    """The image, and the size of its sample: the other one where the header has no room for this."""
    template = write_message(_SERIES, raw + _SAMPLES[size])
    if len(template) != prefix_size + size:
        size = _OTHER_SIZE[size]
        template = write_message(_SERIES, raw + _SAMPLES[size])
    return template, size
