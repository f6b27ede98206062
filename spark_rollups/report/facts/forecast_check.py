"""Forecasts of the month before against the levels that were measured."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date

from spark_rollups.report.facts.assets import Source
from spark_rollups.report.facts.forecasts import ExpectedLevel, Forecast
from spark_rollups.report.facts.monthly_facts import Facts

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
