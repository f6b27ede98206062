"""The chapters on data quality (what is unknown) and on the method with its backtest."""

from __future__ import annotations

from collections.abc import Sequence

from alerts import thresholds as t
from exporter import catalog as c
from spark_rollups.report.chapters.tables import chapter, table
from spark_rollups.report.facts.assets import known, total
from spark_rollups.report.facts.forecasts import CheckedForecast, Forecast
from spark_rollups.report.facts.monthly_facts import (
    HOURS,
    Facts,
    RequestGap,
    covered_hours,
    hours_by_system,
    missing_data,
    partial_days,
    request_gaps,
)
from spark_rollups.report.facts.stores import most_urgent_first
from spark_rollups.report.figures import Figure, day_axis, day_row
from spark_rollups.report.formatting import Level, amount, sentences
from spark_rollups.report.model import Chapter, Row

_GAP_SHARE = 0.01  # of the time


def unknowns(facts: Facts) -> list[list[str]]:
    """What is unknown and why: chapter and sentence."""
    streams, systems = facts.streams.now, facts.systems.now
    lines = sentences(
        "unknowns", facts=facts, end=facts.source.hours(facts.as_of).bit_length(),
        partial=partial_days(facts), apart=missing_data(facts),
        gaps=[gap for gap in request_gaps(facts) if gap.share >= _GAP_SHARE],
        dateless=[each for each in facts.forecasts if each.outlook == "unknown"],
        servers=facts.servers.now.has(c.SERVER_UP), verdicts=facts.consumers["verdicts"].any(),
        unstored=streams.has(c.STREAM_PUBLISHES_UNSTORED),
        tap=systems.has(c.PUBLISH_ACK_TAP_ACTIVE),
        advisories=systems.has(c.ADVISORIES_CONNECTED_TIMESTAMP_SECONDS),
        captured=facts.consumers.now.has(c.CONSUMER_DEAD_LETTER_CAPTURED),
        audited=streams.has(c.STREAM_CONFIG_FINDINGS),
    )  # fmt: skip
    return [line.split(" | ", 1) for line in lines]


def quality_chapter(facts: Facts, gaps: Sequence[RequestGap]) -> Chapter:
    requests = [
        Row((gap.system, gap.request, f"skipped: {gap.reason}" if gap.reason else "failed", gap.share))
        for gap in gaps
    ]  # fmt: skip
    unknown = [Row(tuple(each)) for each in unknowns(facts)]
    systems = facts.systems
    return chapter(
        facts, "data-quality",
        [table(facts, "unknown", unknown), table(facts, "requests", requests)], [_strip(facts)],
        whole=facts.month.last.day, hours=covered_hours(facts),
        dropped=total(systems["dropped"]),
        missed=total(systems["tap_dropped"]),
    )  # fmt: skip


def _strip(facts: Facts) -> Figure:
    """All data, and one row per system if there are several."""
    days = facts.month.all_days()
    hours = {day: facts.source.hours(day).bit_count() for day in days}
    rows = [("any data", {day: number for day, number in hours.items() if number})]
    rows += hours_by_system(facts) if len(facts.systems.now) > 1 else []
    shares = (
        (name, [known[day] / HOURS if day in known else None for day in days])
        for name, known in rows
    )
    return Figure(
        "strip", "Coverage by day",
        "A full cell is a day with all hours, a lower one has some, an empty one has none.",
        tuple(day_row(name, each) for name, each in shares), day_axis(len(days)),
    )  # fmt: skip


def method_chapter(facts: Facts, checked: Sequence[CheckedForecast]) -> Chapter:
    backtest = [_backtest_row(each) for each in most_urgent_first(facts.forecasts)]
    thresholds = [
        Row((each.name, each.prose, each.meaning,
             "" if each.value == default.value else f"instead of {default.prose}"))
        for each in facts.thresholds.values()
        for default in (t.BY_NAME[each.name],)
    ]  # fmt: skip
    return chapter(
        facts, "method",
        [table(facts, "backtest", backtest),
         table(facts, "forecast_check", [_checked_row(each) for each in checked]),
         table(facts, "thresholds", thresholds)],
        checked=len(checked), inside=sum(each.inside for each in checked),
    )  # fmt: skip


def _backtest_row(each: Forecast) -> Row:
    error, linear = known(each.error), known(each.linear_error)
    worse = error is not None and linear is not None and error > linear
    return Row(
        (*each.identity, each.limit_name, each.model or None, error, linear, float(each.days),
         float(each.dropped)),
        Level.WARNING if worse else Level.NORMAL,
    )  # fmt: skip


def _checked_row(each: CheckedForecast) -> Row:
    forecast, expected = each.forecast, each.predicted
    levels = (expected.low, expected.middle, expected.high, each.actual)
    return Row(
        (*forecast.identity, forecast.limit_name, expected.day,
         *(amount(level, forecast.is_bytes) for level in levels),
         "inside" if each.inside else "outside"),
        Level.NORMAL if each.inside else Level.WARNING,
    )  # fmt: skip
