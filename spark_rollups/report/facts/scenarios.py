"""What if growth is faster, the largest stream doubles or a server is lost: what is full when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from exporter import catalog as c
from spark_rollups.report.facts.assets import Name
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.stores import Growth, Store, Stores, growth_of

_MORE_GROWTH = 1.5
Place = tuple[str, str]  # system and storage


@dataclass(frozen=True, slots=True)
class Scenario:
    """When one server or account is full, in each case; None: not within a year, or unknown."""

    store: Store
    as_is: date | None
    more_growth: date | None
    doubled: date | None
    server_lost: date | None


@dataclass(frozen=True, slots=True)
class Loss:
    """The loss of the server with most data: its replicas move to servers without one."""

    server: Store
    moved: Mapping[str, Sequence[Growth]]  # by server
    moving: int  # streams
    degraded: int  # streams with a replica less: no other server is free of them
    offline: int  # streams whose only replica is there


@dataclass(frozen=True, slots=True)
class Scenarios:
    rows: tuple[Scenario, ...]
    largest: Mapping[Place, Name]  # stream
    losses: Mapping[Place, Loss]


def scenarios_of(facts: Facts, stores: Stores) -> Scenarios:
    as_of, levels = facts.forecasts_as_of or facts.as_of, _levels(facts)
    by_size = sorted(levels, key=lambda name: (levels[name].at(0), name))
    largest = {(name[0], stores.storage(name)): name for name in by_size}  # the last one counts
    groups: dict[Place, list[Store]] = defaultdict(list)
    for store in stores.servers:
        groups[store.place].append(store)
    losses = {
        place: _loss(stores, levels, place, group)
        for place, group in groups.items()
        if len(group) > 1
    }
    rows = []
    for store in (*stores.servers, *stores.accounts):
        loss, stream = losses.get(store.place), largest.get(store.place)
        more: list[Growth] = []
        if stream is not None and store in stores.of_stream(stream):
            more = [levels[stream]] * stores.copies(store, stream)
        lost = loss is not None and store == loss.server
        moved = loss.moved.get(store.subject.server, ()) if loss is not None else ()
        rows.append(
            Scenario(
                store,
                store.full_on(as_of),
                store.full_on(as_of, _MORE_GROWTH),
                store.full_on(as_of, 1.0, more),
                None if lost else store.full_on(as_of, 1.0, moved),
            )
        )
    rows.sort(key=lambda row: (row.as_is or date.max, -row.store.used / row.store.limit))
    return Scenarios(tuple(rows), largest, losses)


def _levels(facts: Facts) -> dict[Name, Growth]:
    """The expected size of each stream, one replica."""
    now = facts.streams.now
    forecasts = {each.asset: each for each in facts.forecasts if each.limit_name == "bytes"}
    sizes = now.at_end(c.STREAM_BYTES)
    return {
        now.names[index]: growth_of(float(sizes[index]), forecasts.get(now.names[index]))
        for index in np.flatnonzero(sizes > 0).tolist()
    }


def _loss(
    stores: Stores, levels: Mapping[Name, Growth], place: Place, group: Sequence[Store]
) -> Loss:
    gone = max(group, key=lambda store: (store.used, store.subject.server))
    moved: dict[str, list[Growth]] = defaultdict(list)
    moving = degraded = offline = 0
    for stream, servers in stores.placed.items():
        if gone.subject.server not in servers or (stream[0], stores.storage(stream)) != place:
            continue
        spare = [each.subject.server for each in group if each.subject.server not in servers]
        if stores.replicas.get(stream, len(servers)) < 2:
            offline += 1
        elif not spare:
            degraded += 1
        else:
            moving += 1
            points = levels[stream].points if stream in levels else ((0, 0.0),)
            for server in spare:
                moved[server].append(Growth(tuple((day, n / len(spare)) for day, n in points)))
    return Loss(gone, moved, moving, degraded, offline)
