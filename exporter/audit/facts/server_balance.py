"""Which server of a cluster bears far more than the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from exporter.audit.context import AuditContext
from exporter.model import Server


@dataclass(frozen=True, slots=True)
class Load:
    server: Server
    load: float
    average: float  # over all servers of the cluster that hold assets


def overloaded(
    scene: AuditContext, measure: Callable[[Server], float | None], *, times: float, least: float
) -> Iterator[Load]:
    """Of each cluster whose servers are all measured: who bears `times` the average and `least`."""
    for servers in scene.servers_by_cluster.values():
        sharing = [row for row in servers if row.up and row.jetstream]
        loads = [known for row in sharing if (known := measure(row)) is not None]
        if len(loads) < len(sharing) or len(sharing) < len(servers) or len(sharing) < 2:
            continue
        yield from _above(sharing, loads, times, least)


def _above(
    servers: Sequence[Server], loads: Sequence[float], times: float, least: float
) -> Iterator[Load]:
    average = fmean(loads)
    for row, load in zip(servers, loads, strict=True):
        if load >= least and load > times * average:
            yield Load(row, load, average)
