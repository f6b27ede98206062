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


def year_of(facts: Facts) -> Year:
    source = facts.source
    covered = [day for day in source.days() if source.hours(day) and day <= facts.month.last]
    months: list[MonthTotals] = []
    load: dict[date, float] = {}
    for month in _months(facts.month):
        days = [day for day in covered if month.first <= day <= month.last]
        if not days:
            continue
        stored = _per_day(source, days)
        load |= stored
        size = _at_end(source, c.STREAM_BYTES, days)
        before = months[-1] if months and months[-1].month == month.before else None
        growth = (
            None if size is None or before is None or before.size is None else size - before.size
        )
        months.append(
            MonthTotals(
                month, len(days), size, growth, mean(stored.values()) if stored else None,
                _at_end(source, c.SERVER_STORAGE_USED_BYTES, days),
            )
        )  # fmt: skip
    weekdays, weeks = _profile(load)
    return Year(tuple(months), weekdays, weeks, tuple(_scores(facts, covered)))


def _months(last: Month) -> list[Month]:
    found = [last]
    while len(found) < _MONTHS:
        found.append(found[-1].before)
    return found[::-1]


def _at_end(source: Source, metric: Metric, days: Sequence[date]) -> float | None:
    table = source.table("daily", days[-1], days[-1], columns=["last"], metrics=[metric.name])
    total = pc.sum(table["last"]).as_py()
    return None if total is None else float(total)


def _per_day(source: Source, days: Sequence[date]) -> dict[date, float]:
    """Messages stored on each day, in all streams."""
    found: dict[date, float] = {}
    for day in days:
        table = source.table(
            "daily", day, day, columns=["increase"], metrics=[c.STREAM_STORED_MESSAGES.name]
        )
        total = pc.sum(table["increase"]).as_py()
        if total is not None:
            found[day] = float(total)
    return found


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
    newest: dict[tuple[int, int], date] = {}
    for day in sorted(facts.source.snapshot_days()):
        if day < facts.month.first:
            newest[day.year, day.month] = day
    for made in sorted(newest.values(), reverse=True)[: _MONTHS - 1]:
        forecasts = forecasts_of(facts.source, made)
        for lead in _LEADS:
            found = checked(facts.source, forecasts, lead, covered)
            if found:
                yield _score(made, lead, found)


def _score(made: date, lead: int, found: Sequence[CheckedForecast]) -> Score:
    def error(each: CheckedForecast) -> float:
        return abs(each.predicted.middle - each.actual) / max(abs(each.actual), 1.0)

    worst = max(found, key=error)
    above = sum(each.actual > each.predicted.high for each in found)
    inside = sum(each.inside for each in found)
    return Score(
        made, lead, len(found), inside, above, len(found) - inside - above,
        median(error(each) for each in found), "" if worst.inside else worst.forecast.name,
    )  # fmt: skip


_LEAD_DAYS = 30

_LABELS = ("metric", "system", "account", "stream", "server")


@dataclass(frozen=True, slots=True)
class CheckedForecast:
    """A forecast of the month before for a day of this month, and the level of that day."""

    forecast: Forecast
    predicted: ExpectedLevel
    actual: float

    @property
    def inside(self) -> bool:
        return self.predicted.low <= self.actual <= self.predicted.high


def checked_forecasts(facts: Facts) -> list[CheckedForecast]:
    """Forecasts 30 days ahead whose day lies in this month."""
    return checked(facts.source, facts.forecasts_before, _LEAD_DAYS, facts.days)


def checked(
    source: Source, forecasts: Sequence[Forecast], lead: int, days: Collection[date]
) -> list[CheckedForecast]:
    """Forecasts for a day that has data."""
    ahead = ((each, each.at(lead)) for each in forecasts)
    known = set(days)
    due = [
        (each, predicted)
        for each, predicted in ahead
        if predicted is not None and predicted.day in known
    ]
    metrics = sorted({each.metric for each, _ in due})
    # One read for all limits: one read per limit takes minutes with thousands of them.
    actual = {
        day: _levels_on(source, day, metrics) for day in {predicted.day for _, predicted in due}
    }
    found = ((each, predicted, actual[predicted.day].get(_key(each))) for each, predicted in due)
    return [
        CheckedForecast(each, predicted, level)
        for each, predicted, level in found
        if level is not None
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


def _key(each: Forecast) -> tuple[str, ...]:
    return (each.metric, each.system, each.account, each.stream, each.server, each.tier)
