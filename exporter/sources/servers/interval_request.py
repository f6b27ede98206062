"""A request to all servers that is sent at an interval, beside the state of streams and consumers."""

from __future__ import annotations

import time
from collections.abc import Set
from dataclasses import dataclass, field

from msgspec.structs import replace

from exporter.model import Snapshot
from exporter.sources.request_context import RequestContext, SkippedRequests

# Share of the remaining time of a poll: streams and consumers matter more.
SHARE_OF_TIME = 1 / 4


@dataclass(slots=True)
class IntervalRequest:
    """When it is due. A failure of it does not make the snapshot incomplete."""

    wanted: bool
    interval: float
    skipped_requests: SkippedRequests = field(default_factory=SkippedRequests)
    _requested: frozenset[str] = frozenset()
    _read: float = float("-inf")

    def context(self, deadline: float) -> RequestContext:
        now = time.monotonic()
        return RequestContext(now + (deadline - now) * SHARE_OF_TIME, self.skipped_requests)

    def due(self, servers: Set[str], now: float) -> bool:
        """At the interval, and at once when a server has just started."""
        late = now - self._read >= self.interval
        return self.wanted and bool(servers) and (late or not servers <= self._requested)

    def note_requested(self, servers: Set[str], now: float) -> None:
        """Call it before the request: a server that does not respond is not requested at every poll."""
        self._requested, self._read = frozenset(servers), now


def with_request_outcomes(snapshot: Snapshot, context: RequestContext) -> Snapshot:
    skipped = context.skipped_requests.skipped(time.monotonic())
    return replace(
        snapshot,
        outcomes=(*snapshot.outcomes, *context.outcomes),
        skipped=(*snapshot.skipped, *skipped),
    )
