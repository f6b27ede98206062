"""What if: does a raised limit fit into servers and account, and when is what full then."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from exporter import catalog as c
from spark_rollups.report import formatting as fmt
from spark_rollups.report.facts.assets import Name
from spark_rollups.report.facts.forecasts import Forecast
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.stores import Growth, Store, Stores, growth_of

DAY = 86_400.0
_AIM = 0.8  # a shorter retention leaves a fifth of the limit free
MORE_GROWTH = 1.5


@dataclass(frozen=True, slots=True)
class Holder:
    """A server or an account that would hold the raise."""

    store: Store
    needed: float  # bytes that the raise reserves there
    full: date | None  # with the raised limit; None: not within a year, or unknown

    @property
    def holds(self) -> bool:
        return self.needed <= self.store.free


@dataclass(frozen=True, slots=True)
class Retention:
    """A shorter max_age that keeps the stream below its limit, and what it removes."""

    max_age: float  # seconds
    kept_now: float  # seconds
    lost_bytes: float
    lost_messages: float


@dataclass(frozen=True, slots=True)
class Raise:
    """A raised max_bytes of a stream, checked against servers and account."""

    stream: Name
    wanted: float
    added: float
    holders: tuple[Holder, ...]
    elsewhere: tuple[str, ...]  # servers with enough free storage
    replicas: int
    retention: Retention | None  # None: retention by limits does not apply

    @property
    def fits(self) -> bool:
        return all(holder.holds for holder in self.holders)

    @property
    def can_move(self) -> bool:
        """Whether other servers hold what too full ones cannot, and the account allows it."""
        blocked = [each for each in self.holders if not each.holds]
        servers = [each for each in blocked if each.store.subject.server]
        return len(servers) == len(blocked) and len(self.elsewhere) >= len(servers) > 0

    @property
    def sentences(self) -> list[str]:
        if not self.holders:
            return [
                "Servers and account of this stream are unknown: check their free storage first."
            ]
        return [holder_sentence(each) for each in self.holders]


def holder_sentence(each: Holder) -> str:
    store = each.store
    what = f"{'Server' if store.subject.server else 'Account'} {store.subject.name}"
    free = f"{fmt.bytes_text(store.free)} of {fmt.bytes_text(store.limit)} free to reserve"
    if not each.holds:
        return f"{what} does not hold it: {fmt.bytes_text(each.needed)} needed, {free}."
    return f"{what} holds it ({free}) and would then be full {full_text(store, each.full)}."


def full_text(store: Store, day: date | None) -> str:
    if day is not None:
        return f"around {fmt.day(day)}"
    return "not within a year" if store.growth.is_known else "on an unknown date"


def check_raise(facts: Facts, stores: Stores, each: Forecast, wanted: float) -> Raise:
    """The storage that a stream with the wanted max_bytes reserves in addition."""
    stream = (each.system, each.account, each.stream)
    storage = _storage(facts, stream)
    added = max(wanted - (each.limit or 0.0), 0.0)
    copies = {
        id(store): stores.copies(store, stream) for store in stores.of_stream(stream, storage)
    }
    holders = tuple(
        Holder(store, added * copies[id(store)], store.full_on(each.as_of))
        for store in stores.of_stream(stream, storage)
    )
    moved = (each.level or 0.0) + added
    return Raise(
        stream, wanted, added, holders,
        tuple(store.subject.server for store in stores.elsewhere(stream, storage) if store.free >= moved),
        stores.replicas.get(stream, 1), _retention(facts, each, stream),
    )  # fmt: skip


def check_age(facts: Facts, stores: Stores, stream: Name, max_age: float) -> tuple[Holder, ...]:
    """The storage that a longer max_age uses; empty if the bytes of a day are unknown."""
    now, per_day = facts.streams.now, bytes_per_day(facts, stream)
    index = now.position(stream)
    if per_day is None or index is None:
        return ()
    size = float(now.at_end(c.STREAM_BYTES)[index])
    limit = float(now.limit(c.STREAM_MAX_BYTES, c.STREAM_BYTES)[index])
    wanted = min(per_day * max_age / DAY, limit if limit > 0 else math.inf)
    added = max(wanted - size, 0.0)
    as_of = facts.forecasts_as_of or facts.as_of
    return tuple(
        Holder(store, added * copies, store.full_on(as_of, 1.0, (Growth(((0, added * copies),)),)))
        for store in stores.of_stream(stream, _storage(facts, stream))
        for copies in (stores.copies(store, stream),)
    )


def bytes_per_day(facts: Facts, stream: Name) -> float | None:
    """What the stream stores in a day with data, from the mean size of its messages."""
    now = facts.streams.now
    index = now.position(stream)
    if index is None:
        return None
    size, messages = (float(now.at_end(m)[index]) for m in (c.STREAM_BYTES, c.STREAM_MESSAGES))
    stored, days = (
        float(each(c.STREAM_STORED_MESSAGES)[index]) for each in (now.increase, now.days_with_data)
    )
    known = size > 0 and messages > 0 and stored > 0 and days > 0
    return size / messages * stored / days if known else None


def _retention(facts: Facts, each: Forecast, stream: Name) -> Retention | None:
    """None for work queues and interest streams: there age removes unprocessed messages."""
    per_day, size = bytes_per_day(facts, stream), each.level or 0.0
    if facts.stream_info.get(stream, {}).get("retention", "limits") != "limits":
        return None
    if per_day is None or each.limit is None or size <= 0:
        return None
    now = facts.streams.now
    messages = float(now.at_end(c.STREAM_MESSAGES)[now.position(stream) or 0])
    wanted, kept = _AIM * each.limit / per_day * DAY, size / per_day * DAY
    removed = max(1 - wanted / kept, 0.0)
    return Retention(wanted, kept, size * removed, messages * removed)


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
    moved: Mapping[str, tuple[Growth, ...]]  # by server
    moving: int  # streams
    degraded: int  # streams with a replica less: no other server is free of them
    offline: int  # streams whose only replica is there


@dataclass(frozen=True, slots=True)
class Scenarios:
    rows: tuple[Scenario, ...]
    largest: Mapping[tuple[str, str], Name]  # stream by system and storage
    losses: Mapping[tuple[str, str], Loss]  # by system and storage


def scenarios_of(facts: Facts, stores: Stores) -> Scenarios:
    as_of = facts.forecasts_as_of or facts.as_of
    levels = _levels(facts)
    largest = _largest(facts, levels)
    losses = _losses(facts, stores, levels)
    rows = []
    for store in (*stores.servers, *stores.accounts):
        key = (store.subject.system, store.storage)
        loss = losses.get(key)
        stream = largest.get(key)
        more: list[Growth] = []
        if stream is not None and store in stores.of_stream(stream, store.storage):
            more = [levels[stream]] * stores.copies(store, stream)
        lost = loss is not None and store == loss.server
        moved = loss.moved.get(store.subject.server, ()) if loss is not None else ()
        rows.append(
            Scenario(
                store,
                store.full_on(as_of),
                store.full_on(as_of, MORE_GROWTH),
                store.full_on(as_of, 1.0, more),
                None if lost else store.full_on(as_of, 1.0, moved),
            )
        )
    rows.sort(key=lambda row: (row.as_is or date.max, -row.store.used / row.store.limit))
    return Scenarios(tuple(rows), largest, losses)


def _levels(facts: Facts) -> dict[Name, Growth]:
    """The expected size of each stream, one replica."""
    now = facts.streams.now
    forecasts: dict[Name, Forecast] = {(each.system, each.account, each.stream): each
                 for each in facts.forecasts if each.limit_name == "bytes"}  # fmt: skip
    sizes = now.at_end(c.STREAM_BYTES)
    return {
        now.names[index]: growth_of(float(sizes[index]), forecasts.get(now.names[index]))
        for index in np.flatnonzero(sizes > 0).tolist()
    }


def _storage(facts: Facts, stream: Name) -> str:
    return facts.stream_info.get(stream, {}).get("storage") or "file"


def _largest(facts: Facts, levels: Mapping[Name, Growth]) -> dict[tuple[str, str], Name]:
    found: dict[tuple[str, str], Name] = {}
    for name in sorted(levels, key=lambda each: (levels[each].at(0), each)):
        found[name[0], _storage(facts, name)] = name
    return found


def _losses(
    facts: Facts, stores: Stores, levels: Mapping[Name, Growth]
) -> dict[tuple[str, str], Loss]:
    groups: dict[tuple[str, str], list[Store]] = {}
    for store in stores.servers:
        groups.setdefault((store.subject.system, store.storage), []).append(store)
    return {
        key: _loss(facts, stores, levels, key, group)
        for key, group in groups.items()
        if len(group) > 1
    }


def _loss(
    facts: Facts, stores: Stores, levels: Mapping[Name, Growth], key: tuple[str, str],
    group: Sequence[Store],
) -> Loss:  # fmt: skip
    gone = max(group, key=lambda store: (store.used, store.subject.server))
    moved: dict[str, list[Growth]] = {}
    moving = degraded = offline = 0
    for stream, servers in stores.placed.items():
        if gone.subject.server not in servers or (stream[0], _storage(facts, stream)) != key:
            continue
        spare = [each.subject.server for each in group if each.subject.server not in servers]
        if stores.replicas.get(stream, len(servers)) < 2:
            offline += 1
        elif not spare:
            degraded += 1
        else:
            moving += 1
            level = levels.get(stream, Growth(((0, 0.0),)))
            for server in spare:
                share = tuple((day, size / len(spare)) for day, size in level.points)
                moved.setdefault(server, []).append(Growth(share))
    return Loss(
        gone, {key: tuple(parts) for key, parts in moved.items()}, moving, degraded, offline
    )
