"""Servers with a far higher load than the others of their cluster."""

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
    average: float  # of all servers of the cluster


def overloaded(
    context: AuditContext, measure: Callable[[Server], float | None], *, times: float, least: float
) -> Iterator[Load]:
    """Servers whose load is above `times` the average of the cluster, and at least `least`.

    Clusters with a server that is down or has no value are skipped.
    """
    for servers in context.servers_by_cluster.values():
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
