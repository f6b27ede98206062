"""Configuration of the servers; over the system account it needs one more request."""

from __future__ import annotations

import time
from collections.abc import Iterable, Set
from dataclasses import dataclass, field

from msgspec.structs import replace

from exporter.model import ServerSettings, Snapshot
from exporter.sources.decoding.decode import known_time, positive, read_response
from exporter.sources.decoding.server_decode import ServerResponses
from exporter.sources.decoding.wire import WireVarz, WireVarzResponse
from exporter.sources.request_context import RequestContext, SkippedRequests
from exporter.sources.transport.connection import Reply

REQUEST = "varz"
# Share of the remaining time of a poll: streams and consumers matter more.
SHARE_OF_TIME = 1 / 4


def server_settings(varz: WireVarz) -> ServerSettings:
    return ServerSettings(
        auth_required=varz.auth_required,
        tls_required=varz.tls_required,
        tls_expires=known_time(varz.tls_cert_not_after),
        max_payload=positive(varz.max_payload),
    )


@dataclass(slots=True)
class ServerSettingsCache:
    """The settings by server id, refreshed at an interval.

    A failure of this request does not make the snapshot incomplete.
    """

    wanted: bool
    interval: float
    skipped_requests: SkippedRequests = field(default_factory=SkippedRequests)
    _known: dict[str, ServerSettings] = field(default_factory=dict)  # by server id
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

    def update(self, replies: Iterable[Reply]) -> None:
        for reply in replies:
            response = read_response(WireVarzResponse, reply.data, REQUEST)
            if response.data is not None:
                self._known[response.server.id] = server_settings(response.data)

    def fill_in(self, responses: Iterable[ServerResponses]) -> None:
        there = {response.server.id: response for response in responses}
        self._known = {key: kept for key, kept in self._known.items() if key in there}
        for key, kept in self._known.items():
            there[key].settings = kept


def with_request_outcomes(snapshot: Snapshot, context: RequestContext) -> Snapshot:
    skipped = context.skipped_requests.skipped(time.monotonic())
    return replace(
        snapshot,
        outcomes=(*snapshot.outcomes, *context.outcomes),
        skipped=(*snapshot.skipped, *skipped),
    )
