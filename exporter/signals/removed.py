"""Streams and consumers that were removed: one that comes back was perhaps recreated."""

from __future__ import annotations

from collections.abc import Hashable
from datetime import datetime
from typing import Generic, TypeVar

from msgspec import Struct

from exporter.signals.event_count import Events
from exporter.signals.stream_changes import was_recreated

KEEP_SECONDS = 3600.0
KEEP_REMOVED = 10_000  # streams; as many durable and as many ephemeral consumers

Key = TypeVar("Key", bound=Hashable)


class _Removed(Struct, frozen=True, gc=False):
    created: datetime | None
    events: Events | None  # its counters continue
    at: float  # when a poll first did not list it


class RemovedAssets(Generic[Key]):
    """The last removed assets, the oldest first."""

    __slots__ = ("_assets", "_dropped_at", "_limit", "dropped")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._assets: dict[Key, _Removed] = {}
        self._dropped_at = float("-inf")
        self.dropped = 0  # before their time; 0 again when the last of them is as old

    def __len__(self) -> int:
        return len(self._assets)

    def remember(
        self, key: Key, created: datetime | None, events: Events | None, now: float
    ) -> None:
        self._assets.pop(key, None)  # it becomes the newest
        self._assets[key] = _Removed(created, events, now)
        if len(self._assets) > self._limit:
            del self._assets[next(iter(self._assets))]
            self.dropped += 1
            self._dropped_at = now

    def events(self, key: Key) -> Events | None:
        """The event counters that it had when it was removed."""
        known = self._assets.get(key)
        return None if known is None else known.events

    def take(self, key: Key, created: datetime | None) -> bool:
        """Whether the asset that is back is another one than the removed one."""
        known = self._assets.pop(key, None)
        return known is not None and was_recreated(known.created, created)

    def expire(self, now: float) -> None:
        if now - self._dropped_at > KEEP_SECONDS:
            self.dropped = 0
        while self._assets:
            oldest = next(iter(self._assets))
            if now - self._assets[oldest].at <= KEEP_SECONDS:
                return
            del self._assets[oldest]
