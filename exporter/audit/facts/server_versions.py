"""Server versions as numbers that can be compared."""

from __future__ import annotations

import re

_VERSION = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?")


def numbers(text: str) -> tuple[int, ...]:
    """(2, 11, 8) of "2.11.8-rc.1"; nothing of what is no version."""
    found = _VERSION.match(text)
    return tuple(int(part or 0) for part in found.groups()) if found else ()
