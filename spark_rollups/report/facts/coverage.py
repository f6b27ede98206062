"""Days, hours and requests without data."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Any

from exporter import catalog as c
from spark_rollups.report.facts.assets import Statistic, rows_between
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.source import (
    SYSTEM,
    folded,
    names_in,
    slices,
)

HOURS = 24


@dataclass(frozen=True, slots=True)
class RequestGap:
    """A request that failed or was skipped for part of the time."""

    system: str
    request: str
    reason: str  # why it was skipped; "" if it failed
    share: float  # of the time


def partial_days(facts: Facts) -> list[date]:
    """Days that lack hours, without the newest one: it may not be over."""
    return [
        day
        for day in facts.days
        if facts.source.hours(day).bit_count() < HOURS and day != facts.as_of
    ]


@dataclass(frozen=True, slots=True)
class MissingData:
    """Days on which a system has no data, or lacks hours, while others have data."""

    system: str
    missing: tuple[date, ...]
    partial: tuple[date, ...]


def missing_data(facts: Facts) -> list[MissingData]:
    """By system, since it was first seen. Excludes gaps that all systems share."""
    shared = set(partial_days(facts))
    found = []
    known = _seen_before(facts)
    for name, hours in hours_by_system(facts):
        since = facts.month.first if name in known else min(hours, default=date.max)
        days = [day for day in facts.days if day >= since]
        missing = tuple(day for day in days if day not in hours)
        partial = tuple(
            day
            for day in days
            if 0 < hours.get(day, 0) < HOURS and day != facts.as_of and day not in shared
        )
        if missing or partial:
            found.append(MissingData(name, missing, partial))
    return found


def _seen_before(facts: Facts) -> set[str]:
    before = facts.systems.before
    days = zip(before.names, before.day(c.UP, last=True), strict=True)
    return {name[0] for name, day in days if day is not None}


def hours_by_system(facts: Facts) -> list[tuple[str, dict[date, int]]]:
    """Systems seen in the month, with the hours with polls of each day."""
    systems = facts.systems.now
    found: dict[int, dict[date, int]] = {index: {} for index in range(len(systems))}
    for first, last in slices(facts.days):
        table = rows_between(facts.source, systems, c.UP, first, last, ("day", "hours"))
        columns = (table["day"].to_pylist(), table["hours"].to_pylist())
        for index, day, hours in zip(systems.indexes(table).tolist(), *columns, strict=True):
            if index >= 0:
                found[index][day] = hours
    return [
        (systems.names[index][0], hours) for index, hours in found.items() if systems.seen[index]
    ]


def covered_hours(facts: Facts) -> int:
    return sum(facts.source.hours(day).bit_count() for day in facts.days)


def request_gaps(facts: Facts) -> list[RequestGap]:
    skipped = folded(
        facts.source, [c.REQUEST_SKIPPED.name], SYSTEM, facts.days, ("request", "reason")
    )
    failed = folded(facts.source, [c.REQUEST_SUCCESS.name], SYSTEM, facts.days, ("request",))
    found = []
    if skipped.num_rows:
        names = names_in(skipped, ("system", "request", "reason"))
        found += [
            RequestGap(system, request, reason, share)
            for (system, request, reason), share in zip(
                names, _skipped(facts, skipped), strict=True
            )
            if share > 0
        ]
    if failed.num_rows:
        names = names_in(failed, ("system", "request"))
        means = _means(failed)
        found += [
            RequestGap(system, request, "", 1 - share)
            for (system, request), share in zip(names, means, strict=True)
            if share < 1
        ]
    return sorted(found, key=lambda gap: (-gap.share, gap.system, gap.request))


def _skipped(facts: Facts, table: Any) -> list[float]:
    """The series exists, as 1, only while a request is skipped; divide by the polls of the system."""
    systems = facts.systems.now
    counts = systems.column(c.UP, Statistic.COUNT).tolist()
    polls = {name[0]: count for name, count in zip(systems.names, counts, strict=True)}
    columns = (table["system"].to_pylist(), table["sum"].to_pylist())
    return [
        min((sums or 0.0) / polls[system], 1.0) if polls.get(system, 0.0) > 0 else 1.0
        for system, sums in zip(*columns, strict=True)
    ]


def _means(table: Any) -> list[float]:
    columns = (table["sum"].to_pylist(), table["count"].to_pylist())
    return [
        (sums or 0.0) / number if number else 0.0 for sums, number in zip(*columns, strict=True)
    ]
