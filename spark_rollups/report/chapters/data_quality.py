"""The chapters on data quality (what is unknown) and on the method with its backtest."""

from __future__ import annotations

from collections.abc import Sequence

from alerts import thresholds as t
from exporter import catalog as c
from spark_rollups.report import formatting as fmt
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
from spark_rollups.report.formatting import Level, amount
from spark_rollups.report.model import Chapter, Row

_GAP_SHARE = 0.01  # of the time


def unknowns(facts: Facts) -> list[tuple[str, str]]:
    """What is unknown and why: chapter and sentence."""
    found = [("all", sentence) for sentence in _missing_time(facts)]
    if facts.forecasts_as_of is None:
        found.append(("limits", "Dates of all limits: there is no forecast for this month."))
    dateless = [each for each in facts.forecasts if each.outlook == "unknown"]
    if dateless:
        limits = fmt.plural(len(dateless), "limit")
        found.append(("limits", f"Dates of {limits}: {dateless[0].reason}."))
    if not facts.days_before:
        found.append(("all", f"All comparisons: there is no data of {facts.month.before.title}."))
    streams, consumers = facts.streams.now, facts.consumers.now
    servers, systems = facts.servers.now, facts.systems.now
    needed = (
        ("servers", "Servers, their storage, clocks and restarts: the account source does not see them.",
         servers.has(c.SERVER_UP)),
        ("consumers", "Time of consumers in each state: no verdict was recorded.",
         bool(facts.consumers["verdicts"].any())),
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
    return found + [(chapter, sentence) for chapter, sentence, there in needed if not there]


def _missing_time(facts: Facts) -> list[str]:
    found = []
    if facts.missing:
        found.append(f"Everything on {fmt.days_listed(facts.missing)}: no data.")
    if not facts.is_whole:
        found.append(f"Everything after {fmt.day(facts.as_of)}: the data ends before the month.")
    if (end := facts.source.hours(facts.as_of).bit_length()) < HOURS:
        found.append(f"Everything after {end:02}:00 UTC on {fmt.day(facts.as_of)}: no data.")
    if lacking := partial_days(facts):
        found.append(f"Some hours on {fmt.days_listed(lacking)}.")
    for gap in request_gaps(facts):
        if gap.share >= _GAP_SHARE:
            why = f"was skipped ({gap.reason})" if gap.reason else "failed"
            found.append(
                f"What depends on request {gap.request} of {gap.system}, for {fmt.share(gap.share)} "
                f"of the time: it {why}."
            )
    for each in missing_data(facts):
        if each.missing:
            days = fmt.days_listed(each.missing)
            found.append(f"Everything of system {each.system} on {days}: no data.")
        if each.partial:
            found.append(f"Some hours of system {each.system} on {fmt.days_listed(each.partial)}.")
    return found


def quality_chapter(facts: Facts, gaps: Sequence[RequestGap]) -> Chapter:
    requests = [
        Row((gap.system, gap.request, f"skipped: {gap.reason}" if gap.reason else "failed", gap.share))
        for gap in gaps
    ]  # fmt: skip
    unknown = [Row(each) for each in unknowns(facts)]
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
