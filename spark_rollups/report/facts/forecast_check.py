"""Forecasts of the month before against the levels that were measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from spark_rollups.report.facts.forecasts import ExpectedLevel, Forecast
from spark_rollups.report.facts.monthly_facts import Facts

_LEAD_DAYS = 30

_LABELS = ("metric", "system", "account", "stream", "server")


@dataclass(frozen=True, slots=True)
class CheckedForecast:
    """What was said a month ago for a day of this month, and what came."""

    forecast: Forecast
    said: ExpectedLevel
    came: float

    @property
    def inside(self) -> bool:
        return self.said.low <= self.came <= self.said.high


def checked_forecasts(facts: Facts) -> list[CheckedForecast]:
    """Forecasts of 30 days that have come due within the days of this month."""
    ahead = ((each, each.at(_LEAD_DAYS)) for each in facts.forecasts_before)
    due = [(each, said) for each, said in ahead if said is not None and said.day in facts.days]
    metrics = sorted({each.metric for each, _ in due})
    # One reading for all: with thousands of limits, one for each would take minutes.
    came = {day: _levels_on(facts, day, metrics) for day in {said.day for _, said in due}}
    found = ((each, said, came[said.day].get(_key(each))) for each, said in due)
    return [CheckedForecast(each, said, level) for each, said, level in found if level is not None]


def _levels_on(facts: Facts, day: date, metrics: Sequence[str]) -> dict[tuple[str, ...], float]:
    """By metric, place and tier, at the end of the day."""
    columns = [*_LABELS, "labels", "last"]
    rows = facts.source.table("daily", day, day, columns=columns, metrics=metrics).to_pylist()
    found: dict[tuple[str, ...], float] = {}
    for row in rows:
        if row["last"] is not None:
            where = (*(row[name] for name in _LABELS), dict(row["labels"]).get("tier", ""))
            found.setdefault(where, row["last"])
    return found


def _key(each: Forecast) -> tuple[str, ...]:
    return (each.metric, each.system, each.account, each.stream, each.server, each.tier)
