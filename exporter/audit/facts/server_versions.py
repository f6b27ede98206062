"""Server versions as comparable tuples."""

from __future__ import annotations

import re

_VERSION = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?")


def version_numbers(text: str) -> tuple[int, ...]:
    """(2, 11, 8) for "2.11.8-rc.1"; an empty tuple if it is not a version."""
    found = _VERSION.match(text)
    return tuple(int(part or 0) for part in found.groups()) if found else ()
