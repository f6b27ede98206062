"""The chapters on limits and their dates, on what-if scenarios, and on the year."""

from __future__ import annotations

import calendar
import math
from collections.abc import Sequence
from datetime import date, timedelta

from spark_rollups.forecasting.forecast_group import BY_DESIGN
from spark_rollups.forecasting.models.result import Outlook
from spark_rollups.report import formatting as fmt
from spark_rollups.report.chapters.tables import chapter, table
from spark_rollups.report.facts.forecasts import Forecast, MonthTotals, Score, Year
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.stores import (
    URGENT,
    Loss,
    Scenario,
    Scenarios,
    discards_old,
    is_near,
    most_urgent_first,
)
from spark_rollups.report.figures import Bar, Fan, Figure, TimeScale, range_row
from spark_rollups.report.formatting import Level, Value, amount, amount_text
from spark_rollups.report.model import Chapter, Row

_FAN_LIMIT = 6  # figures of single limits
_RANGE_LIMIT = 8  # rows of the figure on the first page
_HORIZON_DAYS = 90
_OUTLOOKS = {"act": "certain", "reached": "full now", "watch": "possible"}


def capacity_chapter(facts: Facts) -> Chapter:
    forecasts = most_urgent_first(facts.forecasts)
    earlier = {each.key: each.likely for each in facts.forecasts_before}
    rows = [_row(facts, each, earlier.get(each.key)) for each in forecasts]
    return chapter(
        facts, "limits", [table(facts, "limits", rows)],
        [_fans(facts, forecasts)], facts.source_line(("daily", "forecasts")),
    )  # fmt: skip


def _row(facts: Facts, each: Forecast, likely_before: date | None) -> Row:
    beyond = None if each.outlook == Outlook.UNKNOWN else ""
    return Row(
        (
            *each.identity, each.subject, each.limit_name, amount(each.level, each.is_bytes),
            amount(each.limit, each.is_bytes), each.fill, amount(each.growth_per_day, each.is_bytes),
            _outlook(facts, each), each.likely or beyond, each.earliest or beyond,
            each.latest or beyond, likely_before, each.reason,
        ),
        _level(facts, each),
    )  # fmt: skip


def _outlook(facts: Facts, each: Forecast) -> str:
    if each.outlook == Outlook.UNKNOWN:
        return f"unknown: {each.reason}" if each.reason else "unknown"
    if each.outlook == BY_DESIGN or (discards_old(facts, each) and each.outlook == Outlook.REACHED):
        return "full by design: discards the oldest"
    if each.outlook == Outlook.NOT_BEFORE and each.not_before is not None:
        return f"not before {fmt.day(each.not_before)}"
    return _OUTLOOKS.get(each.outlook, each.outlook)


def _level(facts: Facts, each: Forecast) -> Level:
    if discards_old(facts, each) or each.outlook not in URGENT:
        return Level.NORMAL
    urgent = each.outlook == Outlook.REACHED or is_near(facts, each)
    return Level.CRITICAL if urgent else Level.WARNING


def full_figure(facts: Facts) -> Figure | None:
    """When limits are reached, for the first page."""
    fills = [
        each
        for each in most_urgent_first(facts.forecasts)
        if each.fills and each.first_date is not None and not discards_old(facts, each)
    ]
    if not fills or facts.forecasts_as_of is None:
        return None
    start = facts.forecasts_as_of
    scale = TimeScale(start, start + timedelta(days=_HORIZON_DAYS))
    rows = (
        range_row(
            scale, each.name, _path(facts, each),
            (each.first_date or each.as_of, each.likely, each.latest),
            _level(facts, each) is Level.CRITICAL,
            f"{amount_text(each.level, each.is_bytes)} of {amount_text(each.limit, each.is_bytes)}",
        )
        for each in fills[:_RANGE_LIMIT]
    )  # fmt: skip
    more = f" The {_RANGE_LIMIT} soonest of {len(fills):,}." if len(fills) > _RANGE_LIMIT else ""
    return Figure(
        "ranges", "What will be full, and when",
        "The bar spans the earliest to the latest date; the mark is the likely date."
        f"{more} Source: {facts.source_line(('forecasts',))}.",
        tuple(rows), scale.axis(),
    )  # fmt: skip


def _path(facts: Facts, each: Forecast) -> str:
    inside = facts.path((each.system, each.account if each.stream else ""))
    return " · ".join(filter(None, (inside, f"{each.subject}, {each.limit_name}")))


def _fans(facts: Facts, forecasts: Sequence[Forecast]) -> Figure | None:
    """The soonest first; limits that are full by design come last."""
    drawn = [each for each in forecasts if each.ahead]
    drawn.sort(key=lambda each: discards_old(facts, each))
    fans = tuple(filter(None, (_fan(facts, each) for each in drawn[:_FAN_LIMIT])))
    caption = (
        "The line is the level at the end of each day, the band covers eight of ten outcomes, the "
        "dashed line is the limit. A gap is a day without data."
    )
    return Figure("fans", "History and forecast", caption, fans=fans) if fans else None


def _fan(facts: Facts, each: Forecast) -> Fan | None:
    pair, column = facts.pair(f"{each.subject}s"), f"{each.limit_name.split()[0]}_by_day"
    index = pair.now.position(tuple(getattr(each, name, "") for name in pair.now.labels))
    if index is None:
        return None
    days = tuple(
        (day, level)
        for month in (pair.before, pair.now)
        for day, level in zip(month.days, month[column][index].tolist(), strict=True)
        if not math.isnan(level)
    )
    when = each.likely or each.earliest
    caption = f"full around {fmt.day(when)}" if when is not None else _outlook(facts, each)
    if discards_old(facts, each):
        caption = "discards the oldest by design"
    path = _path(facts, each)
    return Fan(each.name, path, caption, days, each.ahead, each.limit, each.is_bytes)


def scenarios_chapter(facts: Facts, found: Scenarios) -> Chapter:
    known = [row for row in found.rows if row.store.growth.is_known]
    doubled = [
        (stream[2], facts.path((system, stream[1])), _first(rows, "doubled"))
        for (system, storage), stream in found.largest.items()
        if (rows := [row for row in known if row.store.place == (system, storage)])
    ]
    return chapter(
        facts, "what-if",
        [table(facts, "scenarios", [_scenario(facts, each, found) for each in found.rows])],
        rows=found.rows, known=known, as_is=_first(known, "as_is"), doubled=doubled,
        more_growth=_first(known, "more_growth"), losses=_losses(found),
    )  # fmt: skip


def _losses(found: Scenarios) -> list[Loss]:
    """Of file storage; of memory only if streams are there."""
    return [
        loss
        for (_, storage), loss in found.losses.items()
        if storage == "file" or loss.moving or loss.degraded or loss.offline
    ]


def _first(rows: Sequence[Scenario], case: str) -> str:
    days = ((getattr(row, case) or date.max, row.store.subject.name) for row in rows)
    day, name = min(days, default=(date.max, ""))
    if day == date.max:
        return "nothing is full within a year"
    return f"{name} is full first, around {fmt.day(day)}"


def _scenario(facts: Facts, each: Scenario, found: Scenarios) -> Row:
    store, loss = each.store, found.losses.get(each.store.place)
    beyond = "not within a year" if store.growth.is_known else None
    lost: Value = each.server_lost or beyond
    if loss is not None and loss.server == store:
        lost = "lost"
    elif loss is None and store.subject.server:
        lost = "no other server"
    soon = each.as_is is not None and (each.as_is - facts.as_of).days <= _HORIZON_DAYS
    return Row(
        (
            store.subject.system, store.subject.account, store.subject.server, store.storage,
            store.used, store.limit, each.as_is or beyond, each.more_growth or beyond,
            each.doubled or beyond, lost,
        ),
        Level.WARNING if soon else Level.NORMAL,
    )  # fmt: skip


_GOOD = 0.8  # the share of levels that the range should hold


def year_chapter(facts: Facts, year: Year) -> Chapter:
    days = sum(each.days for each in year.months)
    source = f"daily, {fmt.plural(days, 'day')} of {fmt.plural(len(year.months), 'month')}"
    months = [_month_row(year, totals) for totals in reversed(year.months)]
    scores = [_score_row(score) for score in year.scores]
    return chapter(
        facts, "year",
        [table(facts, "year", months, source=source),
         table(facts, "scoreboard", scores, source=f"forecasts of earlier months; {source}")],
        _figures(year), source, year=year, ago=_year_before(year, year.months[-1]),
        change=months[0].values[-1], weekdays=calendar.day_name,
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
