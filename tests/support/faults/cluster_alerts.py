"""Expected alerts when a cluster loses a server, stable leaders, or its quorum."""

from __future__ import annotations

from typing import Final

from support.alert_pipeline.config import SYSTEM
from support.faults.fault import Expected, on_stream, page, ticket

SOLO_PAGES: Final = (
    page("StreamNoLeader", **on_stream("SOLO")),
    page("StreamNoLeader", **on_stream("TORN")),
    page("ConsumerNoLeader", **on_stream("SHARED", consumer="solo")),
)
DATA_LOST: Final = page("StreamDataLost", **on_stream("TORN", sign="last sequence went back"))
FLAPPING: Final = ticket("StreamLeaderFlapping", **on_stream("SHARED"))
QUORUM_PAGES: Final = (
    page("MetaLeaderMissing", system=SYSTEM),
    page("StreamNoLeader", **on_stream("SHARED")),
)

UNREACHABLE: Final = page("SystemUnreachable", system=SYSTEM)

ALERTS: Final = (*SOLO_PAGES, DATA_LOST, FLAPPING, *QUORUM_PAGES, UNREACHABLE)


def down(server: str) -> Expected:
    return ticket("ServerDown", system=SYSTEM, server=server)
