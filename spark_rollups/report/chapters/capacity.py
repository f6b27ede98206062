"""The chapters on limits and their dates, and on what-if scenarios."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, timedelta

from alerts import thresholds as t
from exporter import catalog as c
from exporter.metric import Metric
from spark_rollups.forecasting.forecast_group import BY_DESIGN
from spark_rollups.forecasting.models.result import Outlook
from spark_rollups.report import formatting as fmt
from spark_rollups.report.cell_values import (
    Kind,
    Level,
    Value,
    amount,
    amount_text,
)
from spark_rollups.report.charts.figure_data import Fan, Fans, FullRange, FullRanges, Name
from spark_rollups.report.facts.forecasts import Forecast
from spark_rollups.report.facts.monthly_facts import Facts, Pair
from spark_rollups.report.facts.stores import URGENT, discards_old, most_urgent_first
from spark_rollups.report.model import Chapter, Column, Row, Table
from spark_rollups.report.scenarios import Loss, Scenario, Scenarios

_FAN_LIMIT = 6  # figures of single limits
_RANGE_LIMIT = 8  # rows of the figure on the first page
_HORIZON_DAYS = 90
_LEVEL_METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        c.STREAM_BYTES, c.STREAM_MESSAGES, c.SERVER_STORAGE_USED_BYTES,
        c.SERVER_MEMORY_USED_BYTES, c.ACCOUNT_STORAGE_USED_BYTES, c.ACCOUNT_MEMORY_USED_BYTES,
    )
}  # fmt: skip


def capacity_chapter(facts: Facts) -> Chapter:
    forecasts = most_urgent_first(facts.forecasts)
    figures = [fans] if (fans := _fans(facts, forecasts)).fans else []
    return Chapter(
        "limits",
        "Limits and their dates",
        tuple(_sentences(facts)),
        (_table(facts, forecasts),),
        tuple(figures),
    )


def _sentences(facts: Facts) -> list[str]:
    if facts.forecasts_as_of is None:
        return ["There is no forecast for this month: every date is unknown."]
    sentences = [
        f"As of {fmt.day(facts.forecasts_as_of)}. Each date is a range: the earliest with high growth, "
        "the likely one, the latest with low growth. Eight of ten should fall inside.",
    ]
    age = (facts.as_of - facts.forecasts_as_of).days
    if age > 1:
        sentences.append(f"The forecast is {fmt.plural(age, 'day')} older than the newest data.")
    return sentences


def _table(facts: Facts, forecasts: Sequence[Forecast]) -> Table:
    earlier = {each.key: each for each in facts.forecasts_before}
    return Table(
        "limits",
        "Every limit",
        (
            Column("system", "System"),
            Column("account", "Account"),
            Column("name", "Name"),
        ),
        (
            Column("subject", "What", hint="stream, server or account"),
            Column("limit_name", "Limit of", hint="bytes, messages, storage or memory"),
            Column("level", "Used", Kind.COUNT),
            Column("limit", "Limit", Kind.COUNT),
            Column("fill", "Filled", Kind.SHARE),
            Column("growth_per_day", "Growth per day", Kind.COUNT),
            Column("outlook", "Outlook"),
            Column("likely", "Likely full", Kind.DAY),
            Column("earliest", "Earliest", Kind.DAY),
            Column("latest", "Latest", Kind.DAY),
            Column("likely_before", "Forecast a month ago", Kind.DAY, shown=False),
            Column("reason", "Reason", shown=False),
        ),
        [_row(facts, each, earlier.get(each.key)) for each in forecasts],
        note="An empty date means: not within the 90 days of the forecast, unless the outlook is unknown.",
        empty="No stream, server or account has a limit, or there is no forecast.",
    )


def _row(facts: Facts, each: Forecast, before: Forecast | None) -> Row:
    fill = each.level / each.limit if each.level is not None and each.limit else None
    return Row(
        (
            each.system, each.account if each.stream else "", each.name, each.subject,
            each.limit_name, amount(each.level, each.is_bytes), amount(each.limit, each.is_bytes), fill,
            amount(each.growth_per_day, each.is_bytes), outlook_words(facts, each),
            each.likely or _beyond(each), each.earliest or _beyond(each),
            each.latest or _beyond(each), None if before is None else before.likely, each.reason,
        ),
        level_of(facts, each),
    )  # fmt: skip


def _beyond(each: Forecast) -> str | None:
    return None if each.outlook == Outlook.UNKNOWN else ""


def outlook_words(facts: Facts, each: Forecast) -> str:
    if each.outlook == Outlook.UNKNOWN:
        return f"unknown: {each.reason}" if each.reason else "unknown"
    if each.outlook == BY_DESIGN or (discards_old(facts, each) and each.outlook == Outlook.REACHED):
        return "full by design: discards the oldest"
    if each.outlook == Outlook.NOT_BEFORE and each.not_before is not None:
        return f"not before {fmt.day(each.not_before)}"
    return {"act": "certain", "reached": "full now", "watch": "possible"}.get(
        each.outlook, each.outlook
    )


def level_of(facts: Facts, each: Forecast) -> Level:
    if discards_old(facts, each) or each.outlook not in URGENT:
        return Level.NORMAL
    horizon = timedelta(seconds=facts.threshold(t.FORECAST_HORIZON))
    if each.outlook == Outlook.REACHED:
        return Level.CRITICAL
    soon = each.likely is not None and each.likely <= each.as_of + horizon
    return Level.CRITICAL if soon else Level.WARNING


def full_figure(facts: Facts) -> FullRanges | None:
    """When limits are reached, for the first page."""
    rows = [
        _range(facts, each)
        for each in most_urgent_first(facts.forecasts)
        if each.fills and each.first_date is not None and not discards_old(facts, each)
    ]
    if not rows or facts.forecasts_as_of is None:
        return None
    more = f" The {_RANGE_LIMIT} soonest of {len(rows)}." if len(rows) > _RANGE_LIMIT else ""
    start = facts.forecasts_as_of
    return FullRanges(
        "What will be full, and when",
        f"The bar spans the earliest to the latest date; the mark is the likely date.{more} Source: "
        f"{facts.source_line(('forecasts',))}.",
        start,
        start + timedelta(days=_HORIZON_DAYS),
        tuple(rows[:_RANGE_LIMIT]),
    )


def _range(facts: Facts, each: Forecast) -> FullRange:
    first = each.first_date or each.as_of
    return FullRange(
        Name(each.name, path_of(facts, each)),
        first,
        each.likely,
        each.latest,
        level_of(facts, each) is Level.CRITICAL,
        f"{amount_text(each.level, each.is_bytes)} of {amount_text(each.limit, each.is_bytes)}",
    )


def path_of(facts: Facts, each: Forecast) -> str:
    what = f"{each.subject}, {each.limit_name}"
    inside = facts.path((each.system, each.account if each.stream else ""))
    return f"{inside} · {what}" if inside else what


def _fans(facts: Facts, forecasts: Sequence[Forecast]) -> Fans:
    """The soonest first; limits that are full by design come last."""
    drawn = [each for each in forecasts if each.ahead and each.metric in _LEVEL_METRICS]
    drawn.sort(key=lambda each: discards_old(facts, each))
    fans = [_fan(facts, each) for each in drawn[:_FAN_LIMIT]]
    return Fans(
        "History and forecast",
        "The line is the level at the end of each day, the band covers eight of ten outcomes, the dashed "
        "line is the limit. A gap is a day without data.",
        tuple(fan for fan in fans if fan is not None),
    )


def _fan(facts: Facts, each: Forecast) -> Fan | None:
    pair = _pair(facts, each.subject)
    index = pair.now.position(tuple(getattr(each, name, "") for name in pair.now.labels))
    if index is None:
        return None
    days = [
        (day, float(level))
        for month in (pair.before, pair.now)
        for day, level in zip(
            month.days, month.daily(_LEVEL_METRICS[each.metric], "last")[index], strict=True
        )
        if not math.isnan(level)
    ]
    when = each.likely or each.earliest
    caption = f"full around {fmt.day(when)}" if when is not None else outlook_words(facts, each)
    if discards_old(facts, each):
        caption = "discards the oldest by design"
    return Fan(
        Name(each.name, path_of(facts, each)), caption, tuple(days), each.ahead, each.limit,
        each.is_bytes,
    )  # fmt: skip


def _pair(facts: Facts, subject: str) -> Pair:
    return {"stream": facts.streams, "server": facts.servers, "account": facts.accounts}[subject]


_SOON_DAYS = 90


def scenarios_chapter(facts: Facts, found: Scenarios) -> Chapter:
    return Chapter(
        "what-if",
        "What if",
        tuple(_scenarios_sentences(facts, found)),
        (_scenarios_table(facts, found),),
    )


def _scenarios_sentences(facts: Facts, found: Scenarios) -> list[str]:
    if not found.rows:
        return [
            "No storage of a server or limit of an account is known, so nothing can be computed."
        ]
    if facts.forecasts_as_of is None:
        return ["There is no forecast for this month: when storage is full is unknown."]
    known = [row for row in found.rows if row.store.growth.is_known]
    sentences = [
        f"{_first(known, 'as_is')} as it grows today; {_lower(_first(known, 'more_growth'))} with 50 % more growth."
    ]
    for (system, storage), stream in found.largest.items():
        rows = [
            row
            for row in known
            if (row.store.subject.system, row.store.storage) == (system, storage)
        ]
        where = facts.path((system, stream[1]))
        if rows:
            sentences.append(
                f"If stream {stream[2]}{f' of {where}' if where else ''} doubles, {_lower(_first(rows, 'doubled')).rstrip(',')}."
            )
    if len(known) < len(found.rows):
        unknown = fmt.plural(
            len(found.rows) - len(known), "server or account has", "servers and accounts have"
        )
        sentences = sentences if known else []
        sentences.append(f"{unknown} no forecast, so when that storage is full is unknown.")
    sentences += [_loss(loss) for loss in found.losses.values()]
    return sentences


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _first(rows: Sequence[Scenario], case: str) -> str:
    day, name = min(
        ((getattr(row, case) or date.max, row.store.subject.name) for row in rows),
        default=(date.max, ""),
    )
    return (
        "Nothing is full within a year"
        if day == date.max
        else f"{name} is full first, around {fmt.day(day)},"
    )


def _loss(loss: Loss) -> str:
    parts = [
        text
        for number, text in (
            (loss.moving, f"{fmt.plural(loss.moving, 'stream moves', 'streams move')} to other servers"),
            (loss.degraded, f"{fmt.plural(loss.degraded, 'stream has', 'streams have')} one replica less, because no "
                            "server is free of them"),
            (loss.offline, f"{fmt.plural(loss.offline, 'stream is', 'streams are')} offline: the only replica is there"),
        )
        if number
    ]  # fmt: skip
    return f"Without server {loss.server.subject.server}: {'; '.join(parts) or 'no stream is affected'}."


def _scenarios_table(facts: Facts, found: Scenarios) -> Table:
    return Table(
        "scenarios",
        "When storage is full",
        (Column("system", "System"), Column("account", "Account"), Column("server", "Name")),
        (
            Column("storage", "Storage"),
            Column("used", "Used", Kind.BYTES),
            Column("limit", "Limit", Kind.BYTES),
            Column("as_is", "As is", Kind.DAY),
            Column("more_growth", "Growth +50 %", Kind.DAY),
            Column("doubled", "Largest stream doubled", Kind.DAY),
            Column("server_lost", "One server lost", Kind.DAY, "the one with most data"),
        ),
        [_scenarios_row(facts, each, found) for each in found.rows],
        note="From the middle of the forecast; after its 90 days the growth goes on as at its end. The "
        "largest stream and the lost server are named above.",
        empty="No server has a maximum and no account has a limit, or both are unknown.",
    )


def _scenarios_row(facts: Facts, each: Scenario, found: Scenarios) -> Row:
    store = each.store
    loss = found.losses.get((store.subject.system, store.storage))
    lost: Value = _day(each, each.server_lost)
    if loss is not None and loss.server == store:
        lost = "lost"
    elif loss is None and store.subject.server:
        lost = "no other server"
    soon = each.as_is is not None and (each.as_is - facts.as_of).days <= _SOON_DAYS
    return Row(
        (
            store.subject.system, store.subject.account, store.subject.server, store.storage,
            store.used, store.limit, _day(each, each.as_is), _day(each, each.more_growth),
            _day(each, each.doubled), lost,
        ),
        Level.WARNING if soon else Level.NORMAL,
    )  # fmt: skip


def _day(each: Scenario, day: date | None) -> Value:
    if day is not None:
        return day
    return "not within a year" if each.store.growth.is_known else None
