"""Offline peers of a Raft group."""

from __future__ import annotations

from collections.abc import Iterable

from exporter.model import Replica

# Peers exchange heartbeats every second. Leaders report a killed server as offline only minutes
# later, so a long silence counts as offline too.
SILENT_SECONDS = 60.0


def offline_servers(peers: Iterable[Replica]) -> tuple[str, ...]:
    return tuple(peer.server for peer in peers if peer.offline or _is_silent(peer))


def _is_silent(peer: Replica) -> bool:
    return peer.active_seconds is not None and peer.active_seconds > SILENT_SECONDS
