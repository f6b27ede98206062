"""The month of each server: restarts, missed polls, API errors and clock offset."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np

from exporter import catalog as c
from spark_rollups.report.facts.arithmetic import divided
from spark_rollups.report.facts.assets import Statistic, rows_between
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.source import (
    Floats,
    slices,
)

_SAME_START = 60.0  # the start time is corrected by the clock offset and varies by seconds


def restart_days(facts: Facts) -> dict[int, list[date]]:
    """By server, the days with a restart; several on one day count once."""
    now = facts.servers.now
    found: dict[int, list[date]] = {index: [] for index in range(len(now))}
    before: dict[int, float] = {
        index: start
        for index, start in enumerate(
            facts.servers.before.column(c.SERVER_START_TIMESTAMP_SECONDS, Statistic.LAST).tolist()
        )
        if not np.isnan(start)
    }
    for first, last in slices(facts.days):
        table = rows_between(
            facts.source,
            now,
            c.SERVER_START_TIMESTAMP_SECONDS,
            first,
            last,
            ("day", "min", "max", "last"),
        )
        columns = (table[name].to_pylist() for name in ("day", "min", "max", "last"))
        rows = sorted(zip(now.indexes(table).tolist(), *columns, strict=True))
        for index, day, low, high, end in sorted(rows, key=lambda row: row[1]):
            if index < 0 or low is None or high is None:
                continue
            earlier = before.get(index, low)
            if max(high, earlier) - min(low, earlier) > _SAME_START:
                found[index].append(day)
            before[index] = end
    return found


def response_ratio(facts: Facts) -> Floats:
    """Share of polls with a response of the server, since it was first seen in the month.

    Polls count as missed also after the series of a dead server has ended.
    """
    now = facts.servers.now
    expected = np.fmax(_polls_since_seen(facts), now.column(c.SERVER_UP, Statistic.COUNT))
    return divided(now.column(c.SERVER_UP, Statistic.SUM), expected)


def _polls_since_seen(facts: Facts) -> Floats:
    """On the first day only its own samples count: it may have started at noon."""
    now, systems = facts.servers.now, facts.systems.now
    seen = now.day(c.SERVER_UP, last=False)
    polls = np.zeros(len(now))
    for first, last in slices(facts.days):
        own = rows_between(facts.source, now, c.SERVER_UP, first, last, ("day", "count"))
        rows = zip(now.indexes(own).tolist(), *_day_counts(own), strict=True)
        for index, day, count in rows:
            if index >= 0 and day == seen[index]:
                polls[index] += count
        whole = rows_between(facts.source, systems, c.UP, first, last, ("day", "count"))
        for system, day, count in zip(
            whole["system"].to_pylist(), *_day_counts(whole), strict=True
        ):
            for index, name in enumerate(now.names):
                since = seen[index]
                if name[0] == system and since is not None and day > since:
                    polls[index] += count
    return polls


def _day_counts(table: Any) -> tuple[list[date], list[int]]:
    return table["day"].to_pylist(), table["count"].to_pylist()


def api_error_ratio(facts: Facts) -> Floats:
    now = facts.servers.now
    return divided(
        now.column(c.SERVER_API_ERRORS, Statistic.INCREASE),
        now.column(c.SERVER_API_REQUESTS, Statistic.INCREASE),
    )


def certain_offset(facts: Facts) -> Floats:
    """The largest offset of each server minus the uncertainty of the measurement."""
    now = facts.servers.now
    low, high = (
        now.column(c.SERVER_CLOCK_OFFSET_SECONDS, number)
        for number in (Statistic.MIN, Statistic.MAX)
    )
    worst = np.fmax(np.abs(low), np.abs(high))
    uncertainty = now.column(c.SERVER_CLOCK_UNCERTAINTY_SECONDS, Statistic.MAX)
    certain: Floats = np.maximum(worst - np.nan_to_num(uncertainty), 0.0)
    return certain
