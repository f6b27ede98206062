"""Which peers of a Raft group are away."""

from __future__ import annotations

from collections.abc import Iterable

from exporter.model import Replica

# Peers hear of each other every second. A server that was killed is called offline only minutes
# later; its silence tells sooner.
SILENT_SECONDS = 60.0


def away(peers: Iterable[Replica]) -> tuple[str, ...]:
    return tuple(peer.server for peer in peers if peer.offline or _is_silent(peer))


def _is_silent(peer: Replica) -> bool:
    return peer.active_seconds is not None and peer.active_seconds > SILENT_SECONDS
