"""Limits that fill up, in the order of urgency, and the growth of streams."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from exporter import catalog as c
from spark_rollups.forecasting.models.result import Outlook
from spark_rollups.report.facts.assets import (
    Floats,
    Statistic,
)
from spark_rollups.report.facts.forecasts import Forecast
from spark_rollups.report.facts.monthly_facts import Facts

URGENT = (Outlook.REACHED, Outlook.ACT, Outlook.EXPECTED)

_ORDER = {outlook.value: index for index, outlook in enumerate(Outlook)}


def discards_old(facts: Facts, forecast: Forecast) -> bool:
    """Whether the stream has discard policy old: then it is full by design."""
    name = (forecast.system, forecast.account, forecast.stream)
    return bool(forecast.stream) and facts.stream_info.get(name, {}).get("discard") == "old"


def most_urgent_first(forecasts: Sequence[Forecast]) -> list[Forecast]:
    """By date, then by outlook, then by fill."""

    def order(each: Forecast) -> tuple[date, int, float, str]:
        fill = each.level / each.limit if each.level is not None and each.limit else 0.0
        when = each.likely or each.earliest or date.max
        return (when, _ORDER.get(each.outlook, len(_ORDER)), -fill, each.name)

    return sorted(forecasts, key=order)


def filling(facts: Facts) -> list[Forecast]:
    """Limits that are reached or will be; the soonest first, without those full by design."""
    return [
        each
        for each in most_urgent_first(facts.forecasts)
        if each.outlook in URGENT and not discards_old(facts, each)
    ]


def stream_growth(facts: Facts) -> tuple[Floats, Floats]:
    """Bytes by which each stream grew in this month and in the month before."""
    both = (facts.streams.now, facts.streams.before)
    now, before = (
        assets.at_end(c.STREAM_BYTES) - assets.column(c.STREAM_BYTES, Statistic.FIRST)
        for assets in both
    )
    return now, before
