"""Which metadata was stored today: senders repeat theirs all day long."""

from __future__ import annotations

from collections.abc import Hashable

_DAY = 86_400_000
_MAX_ENTRIES = 1_000_000


class MetadataCache:
    """Lets each metadata through when it is new or other than before, and once a day."""

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
        """What was let through may not have become durable: everything is news again."""
        self._seen.clear()
