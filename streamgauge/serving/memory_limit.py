"""The memory limit of this process (cgroup), and bounds that fit it."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from streamgauge.serving.rate_limit import RateLimitedLog

_FILES: Final = (
    Path("/sys/fs/cgroup/memory.max"),  # cgroup 2
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),  # cgroup 1
)
# cgroup 1 writes "no limit" as a number near 2**63.
_UNLIMITED: Final = 1 << 60
_log = RateLimitedLog(logging.getLogger(__name__))


def memory_limit(files: tuple[Path, ...] = _FILES) -> int | None:
    """In bytes; None without a limit."""
    for file in files:
        try:
            written = file.read_text().strip()
        except OSError:
            continue
        if written.isdecimal() and int(written) < _UNLIMITED:
            return int(written)
    return None


LIMIT: Final = memory_limit()


def within_memory(bound: int, parts: int, what: str, limit: int | None = LIMIT) -> int:
    """`bound`, but at most one of `parts` equal parts of the memory limit; logs a lower one."""
    if limit is None or bound <= limit // parts:
        return bound
    _log.log(what, logging.INFO, "bound lowered to fit the memory limit",
             bound=what, bytes=limit // parts, memory_limit=limit)  # fmt: skip
    return limit // parts
