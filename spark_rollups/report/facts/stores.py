"""Limits that fill up, storage of servers and accounts, and when it is full in what-if scenarios."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

import numpy as np

from alerts import thresholds as t
from exporter import catalog as c
from spark_rollups.forecasting.models.result import Outlook
from spark_rollups.report import formatting as fmt
from spark_rollups.report.facts.assets import Assets, Floats, Name, Subject, subject_of
from spark_rollups.report.facts.columns import tier_replicas
from spark_rollups.report.facts.forecasts import Forecast
from spark_rollups.report.facts.monthly_facts import Facts

HORIZON_DAYS = 365  # later dates are not worth a number
_PLACED_DAYS = 7  # a replica seen in this many last days is still there

_STORAGES = {"file": "storage", "memory": "memory"}  # in columns and limits, by that of a stream


@dataclass(frozen=True, slots=True)
class Growth:
    """Expected levels by days ahead; linear between them, and as steep as at the end after them."""

    points: tuple[tuple[int, float], ...]

    @property
    def is_known(self) -> bool:
        return len(self.points) > 1

    def at(self, days: float) -> float:
        return float(self.levels(np.array([days]))[0])

    def levels(self, days: Floats) -> Floats:
        known, levels = np.array(self.points).T
        inside: Floats = np.interp(days, known, levels)
        if len(known) < 2:
            return inside
        slope = (levels[-1] - levels[-2]) / (known[-1] - known[-2])
        return np.where(days > known[-1], levels[-1] + slope * (days - known[-1]), inside)


@dataclass(frozen=True, slots=True)
class Store:
    """File or memory storage of a server or an account."""

    subject: Subject
    storage: str  # file or memory
    tier: str  # of an account, like R3; "" without tiers
    used: float  # a tier, like its limit, counts one replica
    reserved: float  # by max_bytes of streams, used or not; 0 if unknown
    limit: float
    growth: Growth
    likely: date | None = None  # the date of its forecast

    @property
    def place(self) -> tuple[str, str]:
        """System and storage."""
        return (self.subject.system, self.storage)

    @property
    def free(self) -> float:
        """What a stream can still reserve: the server refuses more."""
        return max(self.limit - max(self.used, self.reserved), 0.0)

    def full_on(
        self, as_of: date, factor: float = 1.0, added: Sequence[Growth] = ()
    ) -> date | None:
        """The first day with the limit reached, with growth times a factor and added levels.

        As it grows, that of the forecast: between its days the levels are only interpolated.
        """
        if factor == 1.0 and not added and self.likely is not None:
            return self.likely
        days = np.arange(HORIZON_DAYS + 1.0)
        level = self.used + factor * (self.growth.levels(days) - self.used)
        for each in added:
            level = level + each.levels(days)
        full = np.flatnonzero(level >= self.limit)
        found = as_of + timedelta(days=int(full[0])) if len(full) else None
        # More growth is never later.
        return min(filter(None, (found, self.likely)), default=None) if factor >= 1.0 else found

    def full_text(self, day: date | None) -> str:
        if day is not None:
            return f"around {fmt.day(day)}"
        return "not within a year" if self.growth.is_known else "on an unknown date"


@dataclass(frozen=True, slots=True)
class Raise:
    """What the report advises for one stream, as one store counts it."""

    needed: float  # bytes that it reserves
    unused: Growth  # of the new limit, beyond what the stream is expected to hold


@dataclass(frozen=True, slots=True)
class Stores:
    servers: tuple[Store, ...]
    accounts: tuple[Store, ...]
    placed: Mapping[Name, frozenset[str]]  # servers by stream
    replicas: Mapping[Name, int]
    info: Mapping[Name, Mapping[str, str]]  # labels by stream
    raises: dict[Store, dict[Name, Raise]] = field(default_factory=lambda: defaultdict(dict))

    def raised(self, store: Store, stream: Name) -> dict[Name, Raise]:
        """Those of other streams that the report advises already."""
        return {name: each for name, each in self.raises[store].items() if name != stream}

    def free(self, store: Store, stream: Name) -> float:
        """What the stream can reserve after the raises of the others."""
        taken = sum(each.needed for each in self.raised(store, stream).values())
        return max(store.free - taken, 0.0)

    def storage(self, stream: Name) -> str:
        return self.info.get(stream, {}).get("storage") or "file"

    def of_stream(self, stream: Name) -> list[Store]:
        """The servers and the account that hold a stream."""
        place, servers = (stream[0], self.storage(stream)), self.placed.get(stream, frozenset())
        tiers = ("", f"R{self.replicas.get(stream, 1)}")
        return [
            *(each for each in self.servers if each.place == place and each.subject.server in servers),
            *(each for each in self.accounts if each.place == place
              and each.subject.account == stream[1] and each.tier in tiers),
        ]  # fmt: skip

    def elsewhere(self, stream: Name) -> list[Store]:
        """Servers of the system without the stream."""
        place, held = (stream[0], self.storage(stream)), self.of_stream(stream)
        return [each for each in self.servers if each.place == place and each not in held]

    def copies(self, store: Store, stream: Name) -> int:
        """How often the store counts a byte of the stream: an account without tiers counts all replicas."""
        return 1 if store.subject.server or store.tier else self.replicas.get(stream, 1)


def stores_of(facts: Facts) -> Stores:
    forecasts: dict[tuple[str, ...], Forecast] = {
        (each.limit_name, each.system, each.account, each.server): each
        for each in facts.forecasts
        if not each.stream
    }
    streams = facts.streams.now
    replicas = zip(streams.names, streams["replicas"].tolist(), strict=True)
    return Stores(
        tuple(_stores(facts.servers.now, forecasts)),
        tuple(_stores(facts.accounts.now, forecasts)),
        _placed(facts),
        {name: int(number) for name, number in replicas if not math.isnan(number)},
        facts.stream_info,
    )


def _stores(assets: Assets, forecasts: Mapping[tuple[str, ...], Forecast]) -> list[Store]:
    found, copies = [], tier_replicas(assets)
    for storage, what in _STORAGES.items():
        used, most = assets[f"{what}_bytes"], assets[f"{what}_limit"]
        held = np.nan_to_num(assets[f"{what}_reserved_bytes"])
        for index in np.flatnonzero(~np.isnan(used) & (most > 0)).tolist():
            subject = subject_of(assets, index)
            tier = dict(zip(assets.labels, assets.names[index], strict=True)).get("tier", "")
            limit_name = " ".join(filter(None, (what, tier)))
            key = (limit_name, subject.system, subject.account, subject.server)
            size = float(used[index] / copies[index])
            forecast = forecasts.get(key)
            growth = growth_of(size, forecast, copies[index])
            likely = None if forecast is None else forecast.likely
            held_here, limit_here = float(held[index]), float(most[index])
            found.append(Store(subject, storage, tier, size, held_here, limit_here, growth, likely))
    return found


def growth_of(level: float, forecast: Forecast | None, copies: float = 1.0) -> Growth:
    """Without a forecast the level stays: what is unknown is said where the table is."""
    if forecast is None:
        return Growth(((0, level),))
    ahead = (((each.day - forecast.as_of).days, each.middle / copies) for each in forecast.ahead)
    return Growth(((0, level), *ahead))


def _placed(facts: Facts) -> dict[Name, frozenset[str]]:
    """The leader and the replicas that it reported."""
    since = facts.days[-_PLACED_DAYS:][0]
    found: dict[Name, set[str]] = {}
    replicas = facts.others["replicas"].now
    lasts = replicas.day(c.STREAM_REPLICA_LAG, last=True)
    for (*stream, server), last in zip(replicas.names, lasts, strict=True):
        if last is not None and last >= since:
            found.setdefault(tuple(stream), set()).add(server)
    for name, labels in facts.stream_info.items():
        if leader := labels.get("leader"):
            found.setdefault(name, set()).add(leader)
    return {name: frozenset(servers) for name, servers in found.items()}


URGENT = (Outlook.REACHED, Outlook.ACT, Outlook.EXPECTED)

_ORDER = {outlook.value: index for index, outlook in enumerate(Outlook)}


def discards_old(facts: Facts, forecast: Forecast) -> bool:
    """Whether the stream has discard policy old: then it is full by design."""
    info = facts.stream_info.get(forecast.asset, {})
    return bool(forecast.stream) and info.get("discard") == "old"


def is_near(facts: Facts, forecast: Forecast) -> bool:
    """Whether the likely date lies within the horizon of the alert."""
    horizon = timedelta(seconds=facts.threshold(t.FORECAST_HORIZON))
    return forecast.likely is not None and forecast.likely <= forecast.as_of + horizon


def most_urgent_first(forecasts: Sequence[Forecast]) -> list[Forecast]:
    """By date, then by outlook, then by fill."""

    def order(each: Forecast) -> tuple[date, int, float, str]:
        when = each.likely or each.earliest or date.max
        return (when, _ORDER.get(each.outlook, len(_ORDER)), -(each.fill or 0.0), each.name)

    return sorted(forecasts, key=order)


def filling(facts: Facts) -> list[Forecast]:
    """Limits that are reached or will be; the soonest first, without those full by design."""
    return [
        each
        for each in most_urgent_first(facts.forecasts)
        if each.outlook in URGENT and not discards_old(facts, each)
    ]


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
    sizes = now["bytes"]
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
