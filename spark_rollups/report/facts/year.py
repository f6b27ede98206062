"""A year by months: size, growth, load by weekday, and our own earlier forecasts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from statistics import mean, median

import pyarrow.compute as pc  # type: ignore[import-untyped]

from exporter import catalog as c
from exporter.metric import Metric
from spark_rollups.report.facts.assets import Source
from spark_rollups.report.facts.forecasts import ExpectedLevel, Forecast, forecasts_of
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.month import Month

_MONTHS = 13  # this month, eleven before it, and the same month a year ago
_LEADS = (30, 90)  # days ahead
_LEAST_WEEKS = 4  # of each weekday
_LABELS = ("metric", "system", "account", "stream", "server")


@dataclass(frozen=True, slots=True)
class MonthTotals:
    """The whole system in one month; None is unknown."""

    month: Month
    days: int  # with data
    size: float | None  # of all streams at the end, one replica
    growth: float | None
    stored: float | None  # messages per day with data
    storage: float | None  # used on all servers at the end


@dataclass(frozen=True, slots=True)
class Score:
    """How forecasts of one day came true."""

    made: date
    lead: int
    judged: int
    inside: int
    above: int  # more than the range
    below: int
    error: float  # median of the absolute error, as a share of the level
    worst: str


@dataclass(frozen=True, slots=True)
class Year:
    months: tuple[MonthTotals, ...]  # oldest first; months without data are left out
    weekdays: tuple[float, ...]  # load from Monday on, as a share of the mean; empty if unknown
    weeks: int  # of the weekday profile
    scores: tuple[Score, ...]


@dataclass(frozen=True, slots=True)
class CheckedForecast:
    """A forecast for a day, and the level of that day."""

    forecast: Forecast
    predicted: ExpectedLevel
    actual: float

    @property
    def inside(self) -> bool:
        return self.predicted.low <= self.actual <= self.predicted.high

    @property
    def error(self) -> float:
        return abs(self.predicted.middle - self.actual) / max(abs(self.actual), 1.0)


def year_of(facts: Facts) -> Year:
    source = facts.source
    covered = [day for day in source.days() if source.hours(day) and day <= facts.month.last]
    months: list[MonthTotals] = []
    load: dict[date, float] = {}
    wanted = [facts.month]
    while len(wanted) < _MONTHS:
        wanted.insert(0, wanted[0].before)
    for month in wanted:
        days = [day for day in covered if month.first <= day <= month.last]
        if not days:
            continue
        loads = {day: _total(source, c.STREAM_STORED_MESSAGES, "increase", day) for day in days}
        stored = {day: number for day, number in loads.items() if number is not None}
        load |= stored
        size = _total(source, c.STREAM_BYTES, "last", days[-1])
        before = months[-1].size if months and months[-1].month == month.before else None
        growth = None if size is None or before is None else size - before
        storage = _total(source, c.SERVER_STORAGE_USED_BYTES, "last", days[-1])
        per_day = mean(stored.values()) if stored else None
        months.append(MonthTotals(month, len(days), size, growth, per_day, storage))
    return Year(tuple(months), *_profile(load), tuple(_scores(facts, covered)))


def _total(source: Source, metric: Metric, column: str, day: date) -> float | None:
    """Of all series on a day."""
    found = source.table("daily", day, day, columns=[column], metrics=[metric.name])
    total = pc.sum(found[column]).as_py()
    return None if total is None else float(total)


def _profile(load: dict[date, float]) -> tuple[tuple[float, ...], int]:
    """The mean of each weekday over its mean week; empty with less than four weeks or no load."""
    by_weekday = [[level for day, level in load.items() if day.weekday() == n] for n in range(7)]
    weeks = min(map(len, by_weekday))
    if weeks < _LEAST_WEEKS or not sum(load.values()):
        return (), weeks
    means = [mean(levels) for levels in by_weekday]
    return tuple(each / mean(means) for each in means), weeks


def _scores(facts: Facts, covered: Sequence[date]) -> Iterator[Score]:
    """Of the newest snapshot of each earlier month, newest first."""
    snapshots = sorted(day for day in facts.source.snapshot_days() if day < facts.month.first)
    newest = {(day.year, day.month): day for day in snapshots}
    for made in sorted(newest.values(), reverse=True)[: _MONTHS - 1]:
        forecasts = forecasts_of(facts.source, made)
        for lead in _LEADS:
            if found := _checked(facts.source, forecasts, lead, covered):
                yield _score(made, lead, found)


def _score(made: date, lead: int, found: Sequence[CheckedForecast]) -> Score:
    worst = max(found, key=lambda each: each.error)
    above = sum(each.actual > each.predicted.high for each in found)
    inside = sum(each.inside for each in found)
    return Score(
        made, lead, len(found), inside, above, len(found) - inside - above,
        median(each.error for each in found), "" if worst.inside else worst.forecast.name,
    )  # fmt: skip


def checked_forecasts(facts: Facts) -> list[CheckedForecast]:
    """Forecasts of the month before, 30 days ahead, whose day lies in this month."""
    return _checked(facts.source, facts.forecasts_before, _LEADS[0], facts.days)


def _checked(
    source: Source, forecasts: Sequence[Forecast], lead: int, days: Collection[date]
) -> list[CheckedForecast]:
    """Forecasts for a day that has data."""
    ahead, known = [(each, each.at(lead)) for each in forecasts], set(days)
    due = [(each, level) for each, level in ahead if level is not None and level.day in known]
    metrics = sorted({each.metric for each, _ in due})
    # One read for all limits: one read per limit takes minutes with thousands of them.
    actual = {day: _levels_on(source, day, metrics) for day in {level.day for _, level in due}}
    keys = ((each.metric, *each.asset, each.server, each.tier) for each, _ in due)
    return [
        CheckedForecast(each, level, actual[level.day][key])
        for (each, level), key in zip(due, keys, strict=True)
        if key in actual[level.day]
    ]


def _levels_on(source: Source, day: date, metrics: Sequence[str]) -> dict[tuple[str, ...], float]:
    """Levels at the end of the day, by metric, subject labels and tier."""
    columns = [*_LABELS, "labels", "last"]
    rows = source.table("daily", day, day, columns=columns, metrics=metrics).to_pylist()
    found: dict[tuple[str, ...], float] = {}
    for row in rows:
        if row["last"] is not None:
            where = (*(row[name] for name in _LABELS), dict(row["labels"]).get("tier", ""))
            found.setdefault(where, row["last"])
    return found
