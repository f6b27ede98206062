"""The bytes of a plain series in a request, with blank value and time."""

from __future__ import annotations

from typing import Final

from archive.remote_write.protobuf import write_message
from archive.remote_write.v1.label_cache import VALUED, ZERO

_SERIES: Final = 1
# Tag, length and, for a value, its tag. The tag of the time is part of the time word.
_SAMPLES: Final = {VALUED: b"\x12\x10\x09" + bytes(15), ZERO: b"\x12\x07" + bytes(7)}
_OTHER_SIZE: Final = {VALUED: ZERO, ZERO: VALUED}


def template_of(raw: bytes, prefix_size: int, size: int) -> tuple[bytes, int]:
    """The template and its sample size: the other size when the header cannot encode this one."""
    template = write_message(_SERIES, raw + _SAMPLES[size])
    if len(template) != prefix_size + size:
        size = _OTHER_SIZE[size]
        template = write_message(_SERIES, raw + _SAMPLES[size])
    return template, size
