"""The memory limit of this process (cgroup), and bounds that fit it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from streamgauge.serving.rate_limit import RateLimitedLog

_MOUNT: Final = Path("/sys/fs/cgroup")
_OWN_GROUPS: Final = Path("/proc/self/cgroup")
# cgroup 1 writes "no limit" as a number near 2**63.
_UNLIMITED: Final = 1 << 60
_log = RateLimitedLog(logging.getLogger(__name__))


def memory_limit(mount: Path = _MOUNT, own_groups: Path = _OWN_GROUPS) -> int | None:
    """In bytes, the lowest of this process's group and of those that hold it; None without a limit."""
    limits = [_limit(file) for file in _files(mount, own_groups)]
    return min((limit for limit in limits if limit is not None), default=None)


def _files(mount: Path, own_groups: Path) -> Iterator[Path]:
    """In a container the groups above its own, and often their paths, are not mounted."""
    yield from (mount / "memory.max", mount / "memory" / "memory.limit_in_bytes")
    try:
        lines = own_groups.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            root, name = mount, "memory.max"
        elif "memory" in controllers.split(","):
            root, name = mount / "memory", "memory.limit_in_bytes"
        else:
            continue
        group = PurePosixPath(path.lstrip("/"))
        yield from (root / each / name for each in (group, *group.parents))


def _limit(file: Path) -> int | None:
    try:
        written = file.read_text().strip()
    except OSError:
        return None
    return int(written) if written.isdecimal() and int(written) < _UNLIMITED else None


LIMIT: Final = memory_limit()


def within_memory(bound: int, parts: int, what: str, limit: int | None = LIMIT) -> int:
    """`bound`, but at most one of `parts` equal parts of the memory limit; logs a lower one."""
    if limit is None or bound <= limit // parts:
        return bound
    _log.log(what, logging.INFO, "bound lowered to fit the memory limit",
             bound=what, bytes=limit // parts, memory_limit=limit)  # fmt: skip
    return limit // parts
