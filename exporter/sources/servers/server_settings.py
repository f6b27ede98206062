"""Configuration of the servers; over the system account it needs one more request."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from exporter.model import ServerSettings
from exporter.sources.decoding.decode import known_time, positive
from exporter.sources.decoding.server_decode import ServerResponses
from exporter.sources.decoding.wire_servers import WireVarz, WireVarzResponse
from exporter.sources.servers.interval_request import IntervalRequest
from exporter.sources.servers.server_replies import ServerReplies
from exporter.sources.transport.connection import Reply

REQUEST = "varz"


def server_settings(varz: WireVarz) -> ServerSettings:
    return ServerSettings(
        auth_required=varz.auth_required,
        tls_required=varz.tls_required,
        tls_expires=known_time(varz.tls_cert_not_after),
        max_payload=positive(varz.max_payload),
    )


@dataclass(slots=True)
class ServerSettingsCache(IntervalRequest):
    """The settings by server id, refreshed at an interval."""

    _known: dict[str, ServerSettings] = field(default_factory=dict)

    def update(self, replies: Iterable[Reply]) -> None:
        read = ServerReplies(REQUEST)
        for _, response in read.read(WireVarzResponse, replies, WireVarzResponse):
            if response.data is not None:
                self._known[response.server.id] = server_settings(response.data)
        read.check()

    def fill_in(self, responses: Iterable[ServerResponses]) -> None:
        there = {response.server.id: response for response in responses}
        self._known = {key: kept for key, kept in self._known.items() if key in there}
        for key, kept in self._known.items():
            there[key].settings = kept
