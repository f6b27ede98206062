"""One stream whose subscriptions are polled repeatedly, and its counters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from support.exporter.models import NOW, at, server, stream, stream_config
from support.exporter.models import snapshot as taken_now

from exporter.model import Snapshot, StreamConfig
from exporter.signals.publishes.engine import (
    PublishSignals,
    PublishState,
    StreamPublishes,
    TapCounts,
)
from exporter.subscription_counts import CounterId, Counters, StreamLook, SubscriptionCounts

KEY, WORKER = ("APP", "ORDERS"), ("APP", "ORDERS", "worker")
LONG_AGO = at(NOW - 86_400)
FIRST_LIFE, SECOND_LIFE = ("N1", 12, "1", ""), ("N1B", 7, "1", "")
OTHER_NODE = ("N2", 30, "1", "")


def snapshot(*rows: Any, after: float = 0.0, **changes: Any) -> Snapshot:
    found = taken_now(*rows, **changes)
    return Snapshot(**{**{f: getattr(found, f) for f in found.__struct_fields__},
                       "taken": NOW + after})  # fmt: skip


def counts(
    streams: Mapping[tuple[str, str], StreamLook] | None = None,
    acks: Counters | None = None,
    pulls: Counters | None = None,
    **changes: Any,
) -> SubscriptionCounts:
    plain: dict[str, Any] = {
        "streams": streams or {},
        "acks": {WORKER: acks} if acks is not None else {},
        "pulls": {WORKER: pulls} if pulls is not None else {},
        "advisory_listeners": {},
        "whole_accounts": frozenset({"APP"}),
    }
    return SubscriptionCounts(**{**plain, **changes})


class PublishPolls:
    """One stream whose subscriptions are counted every minute, with polls in between."""

    def __init__(self, **config: Any) -> None:
        self.state = PublishState()
        self.seconds = 0.0
        self.config: StreamConfig = stream_config(**config)
        self.created = LONG_AGO
        self.server = server("n1")
        self.tap: TapCounts | None = None

    def count(self, received: int, last_seq: int, who: CounterId = FIRST_LIFE) -> StreamPublishes:
        """A poll with counts, and the poll after it."""
        row = stream(
            last_seq=last_seq, created=self.created, config=self.config, leader=self.server.name
        )
        seen = StreamLook(self.server.name, self.created, last_seq, None, ((who, received),))
        self._update(counts({KEY: seen}), row, 45.0)
        return self._update(None, row, 15.0).streams[KEY]

    def poll(self, last_seq: int, seconds: float = 15.0, **row: Any) -> PublishSignals:
        found = stream(
            last_seq=last_seq, created=self.created, config=self.config,
            leader=self.server.name, **row,
        )  # fmt: skip
        return self._update(None, found, seconds)

    def _update(self, found: SubscriptionCounts | None, row: Any, seconds: float) -> PublishSignals:
        self.seconds += seconds
        return self.state.update(found, snapshot(row, self.server, after=self.seconds), self.tap)
