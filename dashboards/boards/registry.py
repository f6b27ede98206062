"""All boards, in the order of the documentation."""

from __future__ import annotations

from collections.abc import Callable

from dashboards.boards import capacity, clocks, consumer, exporter, fleet, publish, servers, stream
from dashboards.panels.limits import Limits
from dashboards.panels.model import Board

BUILDERS: tuple[Callable[[Limits], Board], ...] = (
    fleet.board,
    stream.board,
    consumer.board,
    publish.board,
    servers.board,
    clocks.board,
    capacity.board,
    exporter.board,
)


def all_boards(limits: Limits) -> tuple[Board, ...]:
    return tuple(build(limits) for build in BUILDERS)
