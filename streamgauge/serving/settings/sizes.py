"""Sizes in settings: 512B, 64MiB, 1.5GiB, 10MB."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated

from streamgauge.serving.settings.value_format import ValueFormat

_BINARY = {"TiB": 1 << 40, "GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10}
_BYTES = {**_BINARY, "TB": 10**12, "GB": 10**9, "MB": 10**6, "kB": 10**3, "KB": 10**3, "B": 1}
_SIZE = re.compile(rf"([0-9]{{1,15}}(?:\.[0-9]{{1,6}})?) ?({'|'.join(_BYTES)})")


def parse_size(written: object) -> int:
    match = _SIZE.fullmatch(written) if isinstance(written, str) else None
    if match is None:
        raise ValueError("not a size")
    # Decimal: a float could be a byte short.
    return int(Decimal(match[1]) * _BYTES[match[2]])


def format_size(size: int) -> str:
    """In the largest binary unit that divides it, so that it is exact."""
    for unit, count in _BINARY.items():
        if size and size % count == 0:
            return f"{size // count}{unit}"
    return f"{size}B"


Size = Annotated[int, ValueFormat("size", "write it like 64MiB or 512KiB", parse_size, format_size)]
