"""Tracks which metadata was stored today, because senders repeat it all day."""

from __future__ import annotations

from collections.abc import Hashable

_DAY = 86_400_000
_MAX_ENTRIES = 1_000_000


class MetadataCache:
    """Accepts metadata that is new or changed, and all of it once a day."""

    def __init__(self) -> None:
        self._day = 0
        self._seen: dict[Hashable, int] = {}

    def is_new(self, key: Hashable, data: bytes, now: int) -> bool:
        """`key` is the family or the series; `now` in milliseconds."""
        if now // _DAY != self._day or len(self._seen) > _MAX_ENTRIES:
            self._day = now // _DAY
            self._seen.clear()
        mark = hash(data)
        if self._seen.get(key) == mark:
            return False
        self._seen[key] = mark
        return True

    def clear(self) -> None:
        """Accepted metadata may not be durable: accept everything again."""
        self._seen.clear()
