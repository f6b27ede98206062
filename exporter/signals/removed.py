"""Streams and consumers that were removed: one that comes back was perhaps recreated."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from msgspec import Struct

from exporter.model import Consumer, Stream
from exporter.signals.event_count import Events

KEEP_SECONDS = 3600.0
KEEP_REMOVED = 10_000  # streams; as many durable and as many ephemeral consumers

Key = TypeVar("Key", bound=Hashable)
Row = TypeVar("Row", Stream, Consumer)


class _Removed(Struct, Generic[Row], frozen=True, gc=False):
    row: Row  # the last one
    events: Events | None  # its counters continue
    at: float  # when a poll first did not list it


class RemovedAssets(Generic[Key, Row]):
    """The last removed assets, the oldest first."""

    __slots__ = ("_assets", "_dropped_at", "_limit", "dropped")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._assets: dict[Key, _Removed[Row]] = {}
        self._dropped_at = float("-inf")
        self.dropped = 0  # before their time; 0 again when the last of them is as old

    def __len__(self) -> int:
        return len(self._assets)

    def remember(self, key: Key, row: Row, events: Events | None, now: float) -> None:
        self._assets.pop(key, None)  # it becomes the newest
        self._assets[key] = _Removed(row, events, now)
        if len(self._assets) > self._limit:
            del self._assets[next(iter(self._assets))]
            self.dropped += 1
            self._dropped_at = now

    def events(self, key: Key) -> Events | None:
        """The event counters that it had when it was removed."""
        known = self._assets.get(key)
        return None if known is None else known.events

    def take(self, key: Key) -> Row | None:
        """The last row of the removed asset that is back."""
        known = self._assets.pop(key, None)
        return None if known is None else known.row

    def expire(self, now: float) -> None:
        if now - self._dropped_at > KEEP_SECONDS:
            self.dropped = 0
        while self._assets:
            oldest = next(iter(self._assets))
            if now - self._assets[oldest].at <= KEEP_SECONDS:
                return
            del self._assets[oldest]
