"""The month of each server: restarts, missed polls, API errors and clock offset."""

from __future__ import annotations

from datetime import date

import numpy as np

from exporter import catalog as c
from spark_rollups.report.facts.assets import Floats, divided
from spark_rollups.report.facts.monthly_facts import Facts

_SAME_START = 60.0  # the start time is corrected by the clock offset and varies by seconds


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

    Polls count as missed also after the series of a dead server has ended.
    """
    now = facts.servers.now
    expected = np.fmax(_polls_since_seen(facts), now.count(c.SERVER_UP))
    return divided(now.sum(c.SERVER_UP), expected)


def _polls_since_seen(facts: Facts) -> Floats:
    """On the first day only its own samples count: it may have started at noon."""
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
    return polls


def api_error_ratio(facts: Facts) -> Floats:
    now = facts.servers.now
    return divided(
        now.increase(c.SERVER_API_ERRORS),
        now.increase(c.SERVER_API_REQUESTS),
    )


def certain_offset(facts: Facts) -> Floats:
    """The largest offset of each server minus the uncertainty of the measurement."""
    now = facts.servers.now
    low, high = (each(c.SERVER_CLOCK_OFFSET_SECONDS) for each in (now.lowest, now.highest))
    worst = np.fmax(np.abs(low), np.abs(high))
    uncertainty = now.highest(c.SERVER_CLOCK_UNCERTAINTY_SECONDS)
    certain: Floats = np.maximum(worst - np.nan_to_num(uncertainty), 0.0)
    return certain
