"""Progress lines of a report on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

Progress = Callable[[str], None]


def silent(_: str) -> None:
    """For callers that show no progress."""


def progress_lines() -> Progress:
    """Each line has the seconds since the start, so that a slow step shows."""
    start = time.monotonic()

    def write(text: str) -> None:
        sys.stderr.write(f"{time.monotonic() - start:5.1f} s  {text}\n")
        sys.stderr.flush()

    return write
