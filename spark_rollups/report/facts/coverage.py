"""Days, hours and requests without data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

import numpy as np

from exporter import catalog as c
from spark_rollups.report.facts.assets import Name
from spark_rollups.report.facts.monthly_facts import Facts

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
    hours = systems.daily(c.UP, "hours")
    return [
        (
            name,
            {day: int(number) for day, number in zip(facts.days, row, strict=True) if number >= 0},
        )
        for (name,), seen, row in zip(systems.names, systems.seen, hours.tolist(), strict=True)
        if seen
    ]


def covered_hours(facts: Facts) -> int:
    return sum(facts.source.hours(day).bit_count() for day in facts.days)


def request_gaps(facts: Facts) -> list[RequestGap]:
    found = [
        *(
            RequestGap(name[0], name[1], name[2], share)
            for name, share in _skipped(facts)
            if share > 0
        ),
        *(
            RequestGap(name[0], name[1], "", 1 - share)
            for name, share in _succeeded(facts)
            if share < 1
        ),
    ]
    return sorted(found, key=lambda gap: (-gap.share, gap.system, gap.request))


def _skipped(facts: Facts) -> Iterator[tuple[Name, float]]:
    """The series exists, as 1, only while a request is skipped; divide by the polls of the system."""
    systems, skipped = facts.systems.now, facts.others["skipped"].now
    counts = np.nan_to_num(systems.count(c.UP)).tolist()
    polls = {name[0]: count for name, count in zip(systems.names, counts, strict=True)}
    sums = np.nan_to_num(skipped.sum(c.REQUEST_SKIPPED)).tolist()
    for name, seen, number in zip(skipped.names, skipped.seen, sums, strict=True):
        if seen:
            yield name, min(number / polls[name[0]], 1.0) if polls.get(name[0]) else 1.0


def _succeeded(facts: Facts) -> Iterator[tuple[Name, float]]:
    requests = facts.others["requests"].now
    means = np.nan_to_num(requests.mean(c.REQUEST_SUCCESS)).tolist()
    for name, seen, mean in zip(requests.names, requests.seen, means, strict=True):
        if seen:
            yield name, mean
