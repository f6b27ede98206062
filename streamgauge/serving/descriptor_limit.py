"""The limit of open files of this process."""

from __future__ import annotations

from typing import Final

try:
    import resource
except ImportError:  # not a POSIX system
    resource = None  # type: ignore[assignment]

# Enough for every use; some programs walk all descriptors up to the limit.
_ENOUGH: Final = 65_536


def raise_descriptor_limit() -> int:
    """Raises the soft limit as far as the hard limit permits; returns the soft limit."""
    if resource is None:
        return _ENOUGH
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    infinite = resource.RLIM_INFINITY
    wanted = _ENOUGH if hard == infinite else min(hard, _ENOUGH)
    if soft != infinite and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (ValueError, OSError):  # a system with another maximum: the old limit holds
            return soft
        return wanted
    return _ENOUGH if soft == infinite else soft
