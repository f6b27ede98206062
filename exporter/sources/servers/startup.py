"""Detects servers that have just started: their lists are not reliable yet.

Until then a replica may report itself as the leader, and a backlog of 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from exporter.sources.decoding.server_decode import ServerResponses
from exporter.sources.decoding.wire_servers import WireServer

# A server without a meta leader for longer than this is no longer starting: the meta group lost
# quorum, and the streams that the server leads are reliable.
_LONGEST_START_SECONDS = 60.0
# A restarted server counts the backlog of its consumers shortly after it knows the meta leader.
_COUNTING_SECONDS = 5.0
# Texts of healthz while a server recovers its stores and its meta log.
_STARTING = ("failed to be ready", "recovering")


@dataclass(slots=True)
class StartupCache:
    """Which servers have finished their start; a restarted one has a new id."""

    _settled: set[str] = field(default_factory=set)  # ids
    _clustered: set[str] = field(default_factory=set)  # names
    _lives: dict[str, str] = field(default_factory=dict)  # name -> the first id seen of it

    def has_settled(self, server_id: str) -> bool:
        return server_id in self._settled

    def is_new(self, server: WireServer) -> bool:
        """Whether to request its health, because it may be starting."""
        return server.jetstream and server.id not in self._settled

    def starting(self, responses: list[ServerResponses]) -> frozenset[str]:
        """The names of the servers that are still starting."""
        names = frozenset(
            response.server.name for response in responses if self._is_starting(response)
        )
        self._settled &= {response.server.id for response in responses}
        return names

    def _is_starting(self, response: ServerResponses) -> bool:
        server, meta = response.server, response.meta
        if not server.jetstream or server.id in self._settled:
            return False
        # It may know the meta leader before it has read its own log to the end.
        error = response.health.error if response.health else ""
        starting = any(word in error for word in _STARTING)
        if meta is not None:
            self._clustered.add(server.name)
            came_back = self._lives.setdefault(server.name, server.id) != server.id
            uptime = _uptime(response)
            starting |= not meta.leader and uptime < _LONGEST_START_SECONDS
            starting |= came_back and uptime < _COUNTING_SECONDS
        else:
            starting |= server.name in self._clustered
        if not starting:
            self._settled.add(server.id)
        return starting


def _uptime(response: ServerResponses) -> float:
    start = response.stats.start if response.stats else None
    if start is None or response.server.time is None:
        return 0.0
    return (response.server.time - start).total_seconds()
