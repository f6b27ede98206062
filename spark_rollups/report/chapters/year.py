"""The chapter on the year: growth by month, load by weekday, and how our forecasts came true."""

from __future__ import annotations

import calendar

from spark_rollups.report import formatting as fmt
from spark_rollups.report.chapters.tables import chapter, table
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.year import MonthTotals, Score, Year
from spark_rollups.report.figures import Bar, Figure
from spark_rollups.report.formatting import Level
from spark_rollups.report.model import Chapter, Row

_SEASONAL = 1.2  # the busiest weekday has this much more than the quietest
_GOOD = 0.8  # the share of levels that the range should hold


def year_chapter(facts: Facts, year: Year) -> Chapter:
    days = sum(each.days for each in year.months)
    source = f"daily, {fmt.plural(days, 'day')} of {fmt.plural(len(year.months), 'month')}"
    months = [_month_row(year, totals) for totals in reversed(year.months)]
    scores = [_score_row(score) for score in year.scores]
    last, ago = year.months[-1], _year_before(year, year.months[-1])
    high, low = max(year.weekdays, default=0.0), min(year.weekdays, default=0.0)
    busiest, quietest = (
        calendar.day_name[year.weekdays.index(each)] if year.weekdays else ""
        for each in (high, low)
    )
    return chapter(
        facts, "year",
        [table(facts, "year", months, source=source),
         table(facts, "scoreboard", scores, source=f"forecasts of earlier months; {source}")],
        _figures(year), source, year=year, ago=ago,
        change=fmt.change(last.size, ago.size) if ago else "", high=high, low=low,
        busiest=busiest, quietest=quietest, seasonal=low <= 0 or high / low >= _SEASONAL,
        judged=sum(each.judged for each in year.scores),
        inside=sum(each.inside for each in year.scores),
    )  # fmt: skip


def _year_before(year: Year, totals: MonthTotals) -> MonthTotals | None:
    wanted = (totals.month.year - 1, totals.month.number)
    return next((m for m in year.months if (m.month.year, m.month.number) == wanted), None)


def _month_row(year: Year, each: MonthTotals) -> Row:
    ago = _year_before(year, each)
    change = fmt.change(each.size, ago.size) if ago else ""
    return Row(
        (each.month.title, each.days, each.size, each.growth, each.stored, each.storage, change)
    )


def _score_row(each: Score) -> Row:
    return Row(
        (each.made, each.lead, each.judged, each.inside, each.above, each.below, each.error, each.worst),
        Level.NORMAL if each.inside >= _GOOD * each.judged else Level.WARNING,
    )  # fmt: skip


def _figures(year: Year) -> list[Figure]:
    sizes = [
        Bar(f"{calendar.month_abbr[m.month.number]} {m.month.year % 100:02}", m.size, fmt.bytes_text(m.size))
        for m in year.months
        if m.size is not None
    ]  # fmt: skip
    loads = [
        Bar(calendar.day_abbr[n], share, fmt.share(share)) for n, share in enumerate(year.weekdays)
    ]
    weeks = fmt.plural(year.weeks, "week")
    figures = (
        ("Size of streams by month", "At the end of each month, one replica.",
         sizes if len(year.months) > 1 else []),
        ("Load by weekday", f"Messages stored, as a share of a mean day, over {weeks}.", loads),
    )  # fmt: skip
    return [Figure("bars", title, text, bars=tuple(bars)) for title, text, bars in figures if bars]
