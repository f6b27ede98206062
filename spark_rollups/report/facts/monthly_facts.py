"""The data of a month and the month before, read once; what of it is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

from alerts.quantity import Threshold
from exporter import catalog as c
from spark_rollups.report import formatting as fmt
from spark_rollups.report.facts.assets import Assets, Name, Source
from spark_rollups.report.facts.columns import KINDS, add_columns
from spark_rollups.report.facts.forecasts import (
    Forecast,
    Trend,
    forecasts_of,
    newest_snapshot,
    trends_of,
)
from spark_rollups.report.facts.reading import latest_labels, read_months
from spark_rollups.report.month import Month, Progress, ReportError, silent
from spark_rollups.rollup.tables.schemas import SNAPSHOT_TABLES


@dataclass(frozen=True, slots=True)
class Pair:
    """The same assets in this month and in the one before."""

    now: Assets
    before: Assets

    def __getitem__(self, column: str) -> Any:
        """NAME_before is that of the month before."""
        name = column.removesuffix("_before")
        return (self.now if name == column else self.before)[name]


@dataclass(frozen=True, slots=True)
class Facts:
    source: Source
    month: Month
    days: tuple[date, ...]  # of the month, with data
    days_before: tuple[date, ...]
    thresholds: Mapping[str, Threshold]
    consumers: Pair
    streams: Pair
    servers: Pair
    accounts: Pair
    systems: Pair
    others: Mapping[str, Pair]  # of the other names in KINDS
    only_system: str  # "" if there are several
    forecasts_as_of: date | None
    forecasts: tuple[Forecast, ...]
    forecasts_before: tuple[Forecast, ...]  # of the snapshot at the end of the month before
    trends: tuple[Trend, ...]
    stream_info: Mapping[Name, Mapping[str, str]]
    server_info: Mapping[Name, Mapping[str, str]]

    @property
    def as_of(self) -> date:
        return self.days[-1]

    @property
    def missing(self) -> tuple[date, ...]:
        """Days of the month without data. While the month is not over, only up to the newest day."""
        there, last = set(self.days), self.month.last if self.is_over else self.as_of
        return tuple(day for day in self.month.all_days() if day not in there and day <= last)

    @property
    def is_over(self) -> bool:
        """Whether a later month has data."""
        return any(day > self.month.last and self.source.hours(day) for day in self.source.days())

    @property
    def is_whole(self) -> bool:
        return self.as_of == self.month.last or self.is_over

    def pair(self, kind: str) -> Pair:
        found: Pair = self.others[kind] if kind in self.others else getattr(self, kind)
        return found

    def path(self, parts: Sequence[str]) -> str:
        """The parents of an asset, joined by slashes; omits the system if there is only one."""
        return " / ".join(
            filter(None, parts[1:] if parts[:1] and parts[0] == self.only_system else parts)
        )

    def source_line(self, tables: Sequence[str]) -> str:
        """Where numbers come from, like "daily, 16 of 30 days"."""
        whole = len(self.month.all_days())
        parts = []
        for table in tables:
            if table in SNAPSHOT_TABLES:
                as_of = self.forecasts_as_of
                parts.append(f"{table} as of {fmt.day(as_of)}" if as_of else f"{table}, none")
            else:
                parts.append(f"{table}, {len(self.days)} of {whole} days")
        return "; ".join(parts)

    def system_names(self) -> tuple[str, ...]:
        """Systems with an asset that was seen in the month."""
        assets = (each.now for each in (self.streams, self.consumers, self.servers, self.systems))
        found = {each.names[n][0] for each in assets for n in each.seen.nonzero()[0].tolist()}
        return tuple(sorted(found))

    def threshold(self, threshold: Threshold) -> float:
        return self.thresholds[threshold.name].value


def read_facts(
    source: Source, month: Month, thresholds: Mapping[str, Threshold], progress: Progress = silent
) -> Facts:
    days, before = _days_of(source, month), _days_of(source, month.before)
    if not days:
        raise ReportError(
            f"month {month}: the rollups have no data of this month; {_available_days(source)}"
        )
    found = read_months(source, KINDS, days, before, progress)
    pairs = {name: Pair(*pair) for name, pair in found.items()}
    streams, servers = pairs["streams"], pairs["servers"]
    systems = {name[0] for pair in (pairs["systems"], streams) for name in pair.now.names}
    as_of = newest_snapshot(source, month.last)
    as_of = as_of if as_of is not None and as_of >= month.first else None
    as_of_before = newest_snapshot(source, month.before.last)
    if as_of_before is not None and as_of_before < month.before.first:
        as_of_before = None
    facts = Facts(
        source=source,
        month=month,
        days=days,
        days_before=before,
        thresholds=thresholds,
        consumers=pairs.pop("consumers"),
        streams=pairs.pop("streams"),
        servers=pairs.pop("servers"),
        accounts=pairs.pop("accounts"),
        systems=pairs.pop("systems"),
        others=pairs,
        only_system=next(iter(systems)) if len(systems) == 1 else "",
        forecasts_as_of=as_of,
        forecasts=tuple(forecasts_of(source, as_of)),
        forecasts_before=tuple(forecasts_of(source, as_of_before)),
        trends=tuple(trends_of(source, as_of)),
        stream_info=latest_labels(source, c.STREAM_INFO, streams.now, days),
        server_info=latest_labels(source, c.SERVER_INFO, servers.now, days),
    )
    add_columns(facts)
    return facts


def _days_of(source: Source, month: Month) -> tuple[date, ...]:
    """Days with at least one hour of data."""
    inside = (day for day in source.days() if month.first <= day <= month.last)
    return tuple(day for day in inside if source.hours(day))


def _available_days(source: Source) -> str:
    days = [day for day in source.days() if source.hours(day)]
    return f"they have {days[0]} to {days[-1]}" if days else "they are empty"


# --- what is missing --------------------------------------------------------------------------------

HOURS = 24


@dataclass(frozen=True, slots=True)
class RequestGap:
    """A request that failed or was skipped for part of the time."""

    system: str
    request: str
    reason: str  # why it was skipped; "" if it failed
    share: float  # of the time


@dataclass(frozen=True, slots=True)
class MissingData:
    """Days on which a system has no data, or lacks hours, while others have data."""

    system: str
    missing: tuple[date, ...]
    partial: tuple[date, ...]


def partial_days(facts: Facts) -> list[date]:
    """Days that lack hours, without the newest one: it may not be over."""
    hours = {day: facts.source.hours(day).bit_count() for day in facts.days[:-1]}
    return [day for day, number in hours.items() if number < HOURS]


def covered_hours(facts: Facts) -> int:
    return sum(facts.source.hours(day).bit_count() for day in facts.days)


def missing_data(facts: Facts) -> list[MissingData]:
    """By system, since it was first seen. Excludes gaps that all systems share."""
    shared, before = {*partial_days(facts), facts.as_of}, facts.systems.before
    last_days = zip(before.names, before.day(c.UP, last=True), strict=True)
    known = {name[0] for name, day in last_days if day is not None}
    found = []
    for name, hours in hours_by_system(facts):
        since = facts.month.first if name in known else min(hours, default=date.max)
        days = [day for day in facts.days if day >= since]
        missing = tuple(day for day in days if day not in hours)
        partial = tuple(day for day in days if 0 < hours.get(day, 0) < HOURS and day not in shared)
        if missing or partial:
            found.append(MissingData(name, missing, partial))
    return found


def hours_by_system(facts: Facts) -> list[tuple[str, dict[date, int]]]:
    """Systems seen in the month, with the hours with polls of each day."""
    systems = facts.systems.now
    hours = systems["hours_by_day"]
    return [
        (name, {facts.days[n]: int(hours[index, n]) for n in np.flatnonzero(hours[index] >= 0)})
        for index, (name,) in enumerate(systems.names)
        if systems.seen[index]
    ]


def request_gaps(facts: Facts) -> list[RequestGap]:
    """The longest first."""
    systems = facts.systems.now
    skipped, requests = facts.others["skipped"].now, facts.others["requests"].now
    # The series exists, as 1, only while a request is skipped; divide by the polls of the system.
    polls = dict(zip(systems.names, np.nan_to_num(systems["polls"]).tolist(), strict=True))
    sums = np.nan_to_num(skipped["polls"]).tolist()
    shares = np.nan_to_num(requests["share"]).tolist()
    found = [
        RequestGap(
            system,
            request,
            reason,
            min(sums[index] / polls[system,], 1.0) if polls.get((system,)) else 1.0,
        )
        for index, (system, request, reason) in enumerate(skipped.names)
        if skipped.seen[index]
    ]
    found += [
        RequestGap(system, request, "", 1 - shares[index])
        for index, (system, request) in enumerate(requests.names)
        if requests.seen[index]
    ]
    grave = [gap for gap in found if gap.share > 0]
    return sorted(grave, key=lambda gap: (-gap.share, gap.system, gap.request))
