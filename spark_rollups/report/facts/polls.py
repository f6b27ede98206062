"""Polls: days, hours and requests without data; restarts, missed polls and clocks of servers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import numpy as np

from exporter import catalog as c
from spark_rollups.report.facts.assets import Floats, divided
from spark_rollups.report.facts.monthly_facts import Facts

HOURS = 24
_SAME_START = 60.0  # the start time is corrected by the clock offset and varies by seconds


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
    hours = systems.daily(c.UP, "hours")
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
    polls = dict(zip(systems.names, np.nan_to_num(systems.count(c.UP)).tolist(), strict=True))
    sums = np.nan_to_num(skipped.sum(c.REQUEST_SKIPPED)).tolist()
    shares = np.nan_to_num(requests.mean(c.REQUEST_SUCCESS)).tolist()
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


def restart_days(facts: Facts) -> dict[int, list[date]]:
    """By server, the days with a restart; several on one day count once."""
    now, metric = facts.servers.now, c.SERVER_START_TIMESTAMP_SECONDS
    known = facts.servers.before.last(metric)
    low, high, last = (now.daily(metric, column).T for column in ("min", "max", "last"))
    found: dict[int, list[date]] = {index: [] for index in range(len(now))}
    for number, day in enumerate(facts.days):
        moved = np.fmax(high[number], known) - np.fmin(low[number], known) > _SAME_START
        for index in np.flatnonzero(moved & ~np.isnan(low[number])).tolist():
            found[index].append(day)
        known = np.where(np.isnan(last[number]), known, last[number])
    return found


def response_ratio(facts: Facts) -> Floats:
    """Share of polls with a response of the server, since it was first seen in the month.

    Polls count as missed also after the series of a dead server has ended. On the first day only
    its own samples count: it may have started at noon.
    """
    now, systems = facts.servers.now, facts.systems.now
    own, whole = np.nan_to_num(now.daily(c.SERVER_UP, "count")), systems.daily(c.UP, "count")
    polls = np.zeros(len(now))
    for index, seen in enumerate(now.day(c.SERVER_UP, last=False)):
        system = systems.position(now.names[index][:1])
        if seen is not None:
            first = facts.days.index(seen)
            polls[index] = own[index, first]
            if system is not None:
                polls[index] += np.nansum(whole[system, first + 1 :])
    return divided(now.sum(c.SERVER_UP), np.fmax(polls, now.count(c.SERVER_UP)))


def api_error_ratio(facts: Facts) -> Floats:
    now = facts.servers.now
    return divided(now.increase(c.SERVER_API_ERRORS), now.increase(c.SERVER_API_REQUESTS))


def certain_offset(facts: Facts) -> Floats:
    """The largest offset of each server minus the uncertainty of the measurement."""
    now, offset = facts.servers.now, c.SERVER_CLOCK_OFFSET_SECONDS
    worst = np.fmax(np.abs(now.lowest(offset)), np.abs(now.highest(offset)))
    uncertainty = np.nan_to_num(now.highest(c.SERVER_CLOCK_UNCERTAINTY_SECONDS))
    certain: Floats = np.maximum(worst - uncertainty, 0.0)
    return certain
