"""The chapter on the year: growth by month, load by weekday, and how our forecasts came true."""

from __future__ import annotations

import calendar

from spark_rollups.report import formatting as fmt
from spark_rollups.report.cell_values import Kind, Level
from spark_rollups.report.charts.figure_data import Bar, Bars
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.year import MonthTotals, Score, Year
from spark_rollups.report.model import Chapter, Column, Row, Table

_SEASONAL = 1.2  # the busiest weekday has this much more than the quietest
_GOOD = 0.8  # the share of levels that the range should hold


def year_chapter(facts: Facts, year: Year) -> Chapter:
    return Chapter(
        "year", "The year", tuple(_sentences(year)), (_months(year), _scoreboard(year)),
        tuple(_figures(year)), source=_source(year),
    )  # fmt: skip


def _sentences(year: Year) -> list[str]:
    sentences = [f"{fmt.plural(len(year.months), 'month')} with data, at most thirteen are shown."]
    last = year.months[-1]
    ago = _year_before(year, last)
    if ago is None:
        sentences.append("A year over year comparison needs data of the same month a year ago.")
    elif change := fmt.change(last.size, ago.size):
        sentences.append(f"Streams hold {change} compared with {ago.month.title}.")
    sentences.append(_season(year))
    if year.scores:
        judged, inside = (
            sum(getattr(s, name) for s in year.scores) for name in ("judged", "inside")
        )
        sentences.append(
            f"Of {fmt.plural(judged, 'earlier forecast')}, {inside} came true ({fmt.share(inside / judged)}): "
            "the level was within the range. Eight of ten should."
        )
    else:
        sentences.append("No earlier forecast is due yet.")
    return sentences


def _season(year: Year) -> str:
    if not year.weekdays:
        return "Seasonality is unknown: it needs four weeks of publishes."
    high, low = max(year.weekdays), min(year.weekdays)
    if low > 0 and high / low < _SEASONAL:
        return f"Publishes have no weekly season (over {fmt.plural(year.weeks, 'week')})."
    busiest, quietest = (calendar.day_name[year.weekdays.index(each)] for each in (high, low))
    return (
        f"Publishes have a weekly season: {busiest} has {fmt.share(high)} of a mean day, {quietest} "
        f"{fmt.share(low)} (over {fmt.plural(year.weeks, 'week')})."
    )


def _year_before(year: Year, totals: MonthTotals) -> MonthTotals | None:
    wanted = (totals.month.year - 1, totals.month.number)
    return next((m for m in year.months if (m.month.year, m.month.number) == wanted), None)


def _months(year: Year) -> Table:
    return Table(
        "year",
        "Month by month",
        (),
        (
            Column("month", "Month"),
            Column("days", "Days with data", Kind.COUNT),
            Column("size", "Size of streams", Kind.BYTES, "one replica, at the end"),
            Column("growth", "Growth", Kind.BYTES, "since the end of the month before"),
            Column("stored", "Stored per day", Kind.COUNT, "messages"),
            Column("storage", "Storage on servers", Kind.BYTES, "at the end"),
            Column("year_before", "Year over year", hint="size of streams"),
        ),
        [_month_row(year, totals) for totals in reversed(year.months)],
        note="Newest first. A month without data has no row.",
        source=_source(year),
    )


def _source(year: Year) -> str:
    days = sum(each.days for each in year.months)
    return f"daily, {fmt.plural(days, 'day')} of {fmt.plural(len(year.months), 'month')}"


def _month_row(year: Year, totals: MonthTotals) -> Row:
    ago = _year_before(year, totals)
    return Row(
        (
            totals.month.title, totals.days, totals.size, totals.growth, totals.stored, totals.storage,
            fmt.change(totals.size, ago.size) if ago else "",
        )
    )  # fmt: skip


def _scoreboard(year: Year) -> Table:
    return Table(
        "scoreboard",
        "Scoreboard of our forecasts",
        (),
        (
            Column("made", "Made", Kind.DAY),
            Column("lead", "Days ahead", Kind.COUNT),
            Column("judged", "Forecasts", Kind.COUNT),
            Column("inside", "Hits", Kind.COUNT, "the level was within the range"),
            Column("above", "More than expected", Kind.COUNT),
            Column("below", "Less than expected", Kind.COUNT),
            Column("error", "Median error", Kind.SHARE, "of the middle, as a share of the level"),
            Column("worst", "Largest miss"),
        ),
        [_score_row(score) for score in year.scores],
        note="Marked: fewer than eight of ten within the range. A purge, a raised limit or a changed load "
        "is a miss that no forecast can foresee.",
        empty="No earlier forecast is for a day with data.",
        source=f"forecasts of earlier months; {_source(year)}",
    )


def _score_row(score: Score) -> Row:
    level = Level.NORMAL if score.inside >= _GOOD * score.judged else Level.WARNING
    return Row(
        (
            score.made, score.lead, score.judged, score.inside, score.above, score.below, score.error,
            score.worst,
        ),
        level,
    )  # fmt: skip


def _figures(year: Year) -> list[Bars]:
    found = []
    if len(year.months) > 1:
        bars = [
            Bar(
                f"{calendar.month_abbr[m.month.number]} {m.month.year % 100:02}",
                m.size,
                fmt.bytes_text(m.size),
            )
            for m in year.months
            if m.size is not None
        ]
        found.append(
            Bars("Size of streams by month", "At the end of each month, one replica.", tuple(bars))
        )
    if year.weekdays:
        bars = [
            Bar(calendar.day_abbr[n], share, fmt.share(share))
            for n, share in enumerate(year.weekdays)
        ]
        caption = (
            f"Messages stored, as a share of a mean day, over {fmt.plural(year.weeks, 'week')}."
        )
        found.append(Bars("Load by weekday", caption, tuple(bars)))
    return found
