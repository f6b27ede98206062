"""Forecasts and trends of a snapshot, and a year by months: growth, load, and what came of our forecasts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from statistics import mean, median
from typing import Any

import pyarrow.compute as pc  # type: ignore[import-untyped]

from exporter import catalog as c
from exporter.metric import Metric
from spark_rollups.forecasting.models.result import Outlook
from spark_rollups.report.facts.assets import Name, Source, Subject
from spark_rollups.report.month import Month
from spark_rollups.rollup.tables.schemas import HORIZONS

_FILLING = (Outlook.REACHED, Outlook.ACT, Outlook.EXPECTED, Outlook.WATCH)


@dataclass(frozen=True, slots=True)
class ExpectedLevel:
    """A level expected on a day: low, middle, high."""

    day: date
    low: float
    middle: float
    high: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """One level against one limit; docs/forecast.md explains the columns."""

    as_of: date
    subject: str  # stream, server or account
    metric: str
    limit_name: str  # bytes, messages, storage or memory; "storage R3" of a tier
    system: str
    account: str
    stream: str
    server: str
    level: float | None
    limit: float | None
    outlook: str
    reason: str
    earliest: date | None
    likely: date | None
    latest: date | None
    not_before: date | None
    model: str
    error: float | None
    linear_error: float | None
    growth_per_day: float | None
    days: int
    dropped: int
    ahead: tuple[ExpectedLevel, ...]

    @property
    def name(self) -> str:
        return self.stream or self.server or self.account

    @property
    def asset(self) -> Name:
        """The stream; without one, the name of the stream is empty."""
        return (self.system, self.account, self.stream)

    @property
    def identity(self) -> Name:
        """In tables of limits."""
        return (self.system, self.account if self.stream else "", self.name)

    @property
    def fill(self) -> float | None:
        return self.level / self.limit if self.level is not None and self.limit else None

    @property
    def key(self) -> tuple[str, ...]:
        return (self.metric, self.system, self.account, self.stream, self.server, self.limit_name)

    @property
    def tier(self) -> str:
        """The tier of an account limit, as in "storage R3"; else ""."""
        return self.limit_name.partition(" ")[2]

    @property
    def is_bytes(self) -> bool:
        return self.limit_name != "messages"

    @property
    def fills(self) -> bool:
        """Whether the limit is reached, or may be within the forecast horizon."""
        return self.outlook in _FILLING

    @property
    def first_date(self) -> date | None:
        return self.earliest or self.likely or self.latest

    def at(self, days: int) -> ExpectedLevel | None:
        wanted = self.as_of + timedelta(days=days)
        return next((ahead for ahead in self.ahead if ahead.day == wanted), None)


@dataclass(frozen=True, slots=True)
class Trend:
    metric: str
    name: tuple[str, ...]  # system, account, stream, consumer, server
    level: float | None
    per_day: float | None
    low: float | None
    high: float | None
    direction: str
    days: int


def newest_snapshot(source: Source, last: date) -> date | None:
    """The newest snapshot up to this day."""
    return max((day for day in source.snapshot_days() if day <= last), default=None)


def forecasts_of(source: Source, as_of: date | None) -> list[Forecast]:
    if as_of is None:
        return []
    rows = source.snapshot_table("forecasts", as_of).to_pylist()
    # Levels without a limit are forecast too.
    return [_forecast(row) for row in rows if row["limit"] is not None]


def _forecast(row: dict[str, Any]) -> Forecast:
    ahead = tuple(
        ExpectedLevel(
            row["as_of"] + timedelta(days=days), *(row[f"level_{days}d_q{q}"] for q in (10, 50, 90))
        )
        for days in HORIZONS
        if row[f"level_{days}d_q50"] is not None
    )
    fields = {name: row[name] for name in Forecast.__slots__ if name != "ahead"}
    return Forecast(**fields, ahead=ahead)


def trends_of(source: Source, as_of: date | None) -> list[Trend]:
    if as_of is None:
        return []
    rows = source.snapshot_table("trends", as_of).to_pylist()
    fields = [name for name in Trend.__slots__ if name != "name"]
    return [
        Trend(
            name=tuple(row[label] for label in Subject.__slots__), **{name: row[name] for name in fields}
        )
        for row in rows
    ]  # fmt: skip


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


def year_of(source: Source, month: Month) -> Year:
    covered = [day for day in source.days() if source.hours(day) and day <= month.last]
    months: list[MonthTotals] = []
    load: dict[date, float] = {}
    wanted = [month]
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
        ends = [day for day in covered if month.before.first <= day < month.first]
        before = _total(source, c.STREAM_BYTES, "last", ends[-1]) if ends else None
        growth = None if size is None or before is None else size - before
        storage = _total(source, c.SERVER_STORAGE_USED_BYTES, "last", days[-1])
        per_day = mean(stored.values()) if stored else None
        months.append(MonthTotals(month, len(days), size, growth, per_day, storage))
    return Year(tuple(months), *_profile(load), tuple(_scores(source, wanted[-1], covered)))


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


def _scores(source: Source, month: Month, covered: Sequence[date]) -> Iterator[Score]:
    """Of the newest snapshot of each earlier month, newest first."""
    snapshots = sorted(day for day in source.snapshot_days() if day < month.first)
    newest = {(day.year, day.month): day for day in snapshots}
    for made in sorted(newest.values(), reverse=True)[: _MONTHS - 1]:
        forecasts = forecasts_of(source, made)
        for lead in _LEADS:
            if found := _checked(source, forecasts, lead, covered):
                yield _score(made, lead, found)


def _score(made: date, lead: int, found: Sequence[CheckedForecast]) -> Score:
    worst = max(found, key=lambda each: each.error)
    above = sum(each.actual > each.predicted.high for each in found)
    inside = sum(each.inside for each in found)
    return Score(
        made, lead, len(found), inside, above, len(found) - inside - above,
        median(each.error for each in found), "" if worst.inside else worst.forecast.name,
    )  # fmt: skip


def checked_forecasts(
    source: Source, forecasts: Sequence[Forecast], days: Collection[date]
) -> list[CheckedForecast]:
    """Forecasts 30 days ahead, for one of these days."""
    return _checked(source, forecasts, _LEADS[0], days)


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
