"""The chapters on data quality (what is unknown) and on the method with its backtest."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from alerts import thresholds as t
from exporter import catalog as c
from spark_rollups.report import formatting as fmt
from spark_rollups.report.cell_values import (
    Kind,
    Level,
    amount,
)
from spark_rollups.report.charts.figure_data import DayRow, DayStrip, Name
from spark_rollups.report.facts.assets import known, total
from spark_rollups.report.facts.consumers import (
    ConsumerMonth,
)
from spark_rollups.report.facts.coverage import (
    HOURS,
    RequestGap,
    covered_hours,
    hours_by_system,
    missing_data,
    partial_days,
    request_gaps,
)
from spark_rollups.report.facts.forecasts import Forecast
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.stores import most_urgent_first
from spark_rollups.report.facts.year import CheckedForecast
from spark_rollups.report.model import Chapter, Column, Row, Table

_GAP_SHARE = 0.01  # of the time


def unknowns(facts: Facts, month: ConsumerMonth) -> list[tuple[str, str]]:
    """What is unknown and why: chapter and sentence."""
    found = _missing_time(facts)
    if facts.forecasts_as_of is None:
        found.append(("limits", "Dates of all limits: there is no forecast for this month."))
    dateless = [each for each in facts.forecasts if each.outlook == "unknown"]
    if dateless:
        found.append(
            ("limits", f"Dates of {fmt.plural(len(dateless), 'limit')}: {dateless[0].reason}.")
        )
    if not facts.days_before:
        found.append(("all", f"All comparisons: there is no data of {facts.month.before.title}."))
    found += [
        (chapter, sentence) for chapter, sentence, there in _recorded(facts, month) if not there
    ]
    return found


def _recorded(facts: Facts, month: ConsumerMonth) -> tuple[tuple[str, str, bool], ...]:
    """Chapter, what is unknown without a metric, and whether the month has the metric."""
    streams, consumers = facts.streams.now, facts.consumers.now
    servers, systems = facts.servers.now, facts.systems.now
    return (
        ("servers", "Servers, their storage, clocks and restarts: the account source does not see them.",
         servers.has(c.SERVER_UP)),
        ("consumers", "Time of consumers in each state: no verdict was recorded.",
         bool(month.verdicts.any())),
        ("publishing", "Publishes that were not stored: publish accounting was off, or the source does not "
         "see them.", streams.has(c.STREAM_PUBLISHES_UNSTORED)),
        ("publishing", "Rejections by code, and the exact number of duplicates: the publish-ack tap was off.",
         systems.has(c.PUBLISH_ACK_TAP_ACTIVE)),
        ("abandoned", "Naks, terms and exhausted messages as they happened: no advisories were "
         "received.", systems.has(c.ADVISORIES_CONNECTED_TIMESTAMP_SECONDS)),
        ("abandoned", "Whether advisories of abandoned messages are captured: served at detail full only.",
         consumers.has(c.CONSUMER_DEAD_LETTER_CAPTURED)),
        ("configuration", "Findings of the audit: no audit result was recorded.",
         streams.has(c.STREAM_CONFIG_FINDINGS)),
    )  # fmt: skip


def _missing_time(facts: Facts) -> list[tuple[str, str]]:
    found = []
    if facts.missing:
        found.append(("all", f"Everything on {fmt.days_listed(facts.missing)}: no data."))
    if not facts.is_whole:
        found.append(
            (
                "all",
                f"Everything after {fmt.day(facts.as_of)}: the data ends before the month.",
            )
        )
    lacking = partial_days(facts)
    if lacking:
        found.append(("all", f"Some hours on {fmt.days_listed(lacking)}."))
    for gap in request_gaps(facts):
        if gap.share >= _GAP_SHARE:
            why = f"was skipped ({gap.reason})" if gap.reason else "failed"
            found.append(
                ("all", f"What depends on request {gap.request} of {gap.system}, for {fmt.share(gap.share)} of "
                 f"the time: it {why}.")
            )  # fmt: skip
    for each in missing_data(facts):
        if each.missing:
            days = fmt.days_listed(each.missing)
            found.append(("all", f"Everything of system {each.system} on {days}: no data."))
        if each.partial:
            days = fmt.days_listed(each.partial)
            found.append(("all", f"Some hours of system {each.system} on {days}."))
    return found


def quality_chapter(facts: Facts, month: ConsumerMonth, gaps: Sequence[RequestGap]) -> Chapter:
    return Chapter(
        "data-quality",
        "Data quality",
        tuple(_sentences(facts)),
        (_unknown_table(facts, month), _gap_table(gaps)),
        (_strip(facts),),
    )


def _sentences(facts: Facts) -> list[str]:
    whole = len(facts.month.all_days())
    sentences = [
        f"{len(facts.days)} of {whole} days have data, {covered_hours(facts)} of {whole * HOURS} hours.",
        "Sums cover only these; worst values may have been worse in the gaps.",
    ]
    dropped = total(facts.systems.now.increase(c.SERIES_DROPPED))
    if dropped:
        sentences.append(
            f"The exporter dropped series at its limit, {fmt.count(dropped)} times in total."
        )
    tap = total(facts.systems.now.increase(c.PUBLISH_ACK_TAP_DROPPED))
    if tap:
        sentences.append(
            f"The publish-ack tap missed {fmt.count(tap)} messages: duplicates and rejections are too low."
        )
    return sentences


def _unknown_table(facts: Facts, month: ConsumerMonth) -> Table:
    return Table(
        "unknown",
        "Unknown in this report",
        (),
        (Column("chapter", "Chapter"), Column("what", "What is unknown, and why")),
        [Row(each) for each in unknowns(facts, month)],
        empty="No missing data was found.",
    )


def _gap_table(gaps: Sequence[RequestGap]) -> Table:
    return Table(
        "requests",
        "Requests that failed or were skipped",
        (Column("system", "System"), Column("request", "Request")),
        (
            Column("why", "Why"),
            Column("share", "Share of the time", Kind.SHARE),
        ),
        [
            Row((gap.system, gap.request, f"skipped: {gap.reason}" if gap.reason else "failed",
                 gap.share))
            for gap in gaps
        ],
        empty="All recorded requests succeeded.",
    )  # fmt: skip


def _strip(facts: Facts) -> DayStrip:
    rows = [DayRow(Name("any data"), tuple(_share(facts, day) for day in facts.month.all_days()))]
    rows += _by_system(facts)
    return DayStrip(
        "Coverage by day",
        "A full cell is a day with all hours, a lower one has some, an empty one has none.",
        facts.month.first,
        tuple(rows),
    )


def _share(facts: Facts, day: date) -> float | None:
    hours = facts.source.hours(day).bit_count()
    return hours / HOURS if hours else None


def _by_system(facts: Facts) -> list[DayRow]:
    """One row per system, if there are several."""
    if len(facts.systems.now) < 2:
        return []
    return [
        DayRow(Name(name), tuple(_day_share(hours.get(day)) for day in facts.month.all_days()))
        for name, hours in hours_by_system(facts)
    ]


def _day_share(hours: int | None) -> float | None:
    return None if hours is None else hours / HOURS


SENTENCES = (
    "Numbers come from the samples in the archive, aggregated by hour and day. A month is a calendar month "
    "in UTC.",
    "Counters are sums of increases with resets handled as in Prometheus. Totals cover the days with data; "
    "comparisons with the month before are per day with data.",
    "Worst values are the highest single samples. Shares of time add up the time until the next sample, "
    "at most five minutes each.",
    "Unknown means that nothing was measured; it never appears as 0. No limit means that the "
    "configuration sets none.",
    "A restart is a start time that moved by more than a minute; several on one day count once. Several "
    "elections between two polls count once.",
    "The forecast of each limit uses the best of six models in a backtest on the history of the series, "
    "at up to twelve earlier days. The table shows its error beside that of predict_linear of Prometheus on the "
    "same days.",
    "Text in CSV files that starts like a formula (=, +, -, @) has an apostrophe in front, so that no "
    "spreadsheet runs it.",
)


def method_chapter(facts: Facts, checked: list[CheckedForecast]) -> Chapter:
    sentences = list(SENTENCES)
    if checked:
        inside = sum(each.inside for each in checked)
        sentences.append(
            f"Of {fmt.plural(len(checked), 'forecast')} made a month ago, {inside} were right: the level lies "
            "within the predicted range. Eight of ten should."
        )
    return Chapter(
        "method",
        "Method and backtest",
        tuple(sentences),
        (_backtest_table(facts), _checked_table(checked), _threshold_table(facts)),
        as_list=True,
    )


_IDENTITY = (Column("system", "System"), Column("account", "Account"), Column("name", "Name"))


def _identity(each: Forecast) -> tuple[str, str, str]:
    return (each.system, each.account if each.stream else "", each.name)


def _backtest_table(facts: Facts) -> Table:
    rows = [
        Row(
            (
                *_identity(each), each.limit_name, each.model or None, known(each.error),
                known(each.linear_error), float(each.days), float(each.dropped),
            ),
            _backtest_level(each),
        )
        for each in most_urgent_first(facts.forecasts)
    ]  # fmt: skip
    return Table(
        "backtest",
        "Backtest of the models on each series",
        _IDENTITY,
        (
            Column("limit_name", "Limit of"),
            Column("model", "Model"),
            Column(
                "error",
                "Error",
                Kind.SHARE,
                "mean absolute error at 30 days, as a share of the newest level",
            ),
            Column("linear_error", "predict_linear", Kind.SHARE, "its error on the same days"),
            Column("days", "Days", Kind.COUNT, "days with points"),
            Column("dropped", "Dropped", Kind.COUNT, "invalid values"),
        ),
        rows,
        note="Marked: predict_linear had a smaller error.",
        empty="There is no forecast.",
    )


def _backtest_level(each: Forecast) -> Level:
    worse = (
        each.error is not None and each.linear_error is not None and each.error > each.linear_error
    )
    return Level.WARNING if worse else Level.NORMAL


def _checked_table(checked: list[CheckedForecast]) -> Table:
    rows = [
        Row(
            (
                *_identity(each.forecast), each.forecast.limit_name, each.predicted.day,
                amount(each.predicted.low, each.forecast.is_bytes), amount(each.predicted.middle, each.forecast.is_bytes),
                amount(each.predicted.high, each.forecast.is_bytes), amount(each.actual, each.forecast.is_bytes),
                "inside" if each.inside else "outside",
            ),
            Level.NORMAL if each.inside else Level.WARNING,
        )
        for each in checked
    ]  # fmt: skip
    return Table(
        "forecast_check",
        "Forecasts of the month before, and actual levels",
        _IDENTITY,
        (
            Column("limit_name", "Limit of"),
            Column("day", "For", Kind.DAY),
            Column("low", "Low", Kind.COUNT),
            Column("middle", "Middle", Kind.COUNT),
            Column("high", "High", Kind.COUNT),
            Column("came", "Actual", Kind.COUNT),
            Column("verdict", "Range"),
        ),
        rows,
        empty="No forecast of the month before is for a day of this month.",
    )


def _threshold_table(facts: Facts) -> Table:
    rows = []
    for threshold in facts.thresholds.values():
        default = t.BY_NAME[threshold.name]
        changed = "" if threshold.value == default.value else f"instead of {default.prose}"
        rows.append(Row((threshold.name, threshold.prose, threshold.meaning, changed)))
    return Table(
        "thresholds",
        "Thresholds of alerts and report",
        (),
        (
            Column("name", "Threshold"),
            Column("value", "Value"),
            Column("meaning", "Meaning"),
            Column("changed", "Changed", shown=any(row.values[3] for row in rows)),
        ),
        rows,
    )
