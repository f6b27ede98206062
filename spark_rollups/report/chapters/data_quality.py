"""The chapter on data quality: what is missing, and what is therefore unknown."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from exporter import catalog as c
from spark_rollups.report import formatting as fmt
from spark_rollups.report.cell_values import (
    Kind,
)
from spark_rollups.report.facts.arithmetic import total
from spark_rollups.report.facts.assets import Statistic
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
)
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.figure_data import DayRow, DayStrip, Name
from spark_rollups.report.model import Chapter, Column, Row, Table


def unknowns(facts: Facts, month: ConsumerMonth) -> list[tuple[str, str]]:
    """What the report cannot tell, and why: chapter and sentence."""
    found = _missing_time(facts)
    if facts.forecasts_as_of is None:
        found.append(("limits", "Dates of all limits: no forecast was made for this month."))
    dateless = [each for each in facts.forecasts if each.outlook == "unknown"]
    if dateless:
        found.append(
            ("limits", f"Dates of {fmt.plural(len(dateless), 'limit')}: {dateless[0].reason}.")
        )
    if not facts.days_before:
        found.append(("all", f"Every comparison: there is no data of {facts.month.before.title}."))
    found += [
        (chapter, sentence) for chapter, sentence, there in _recorded(facts, month) if not there
    ]
    return found


def _recorded(facts: Facts, month: ConsumerMonth) -> tuple[tuple[str, str, bool], ...]:
    """What a chapter needs, what is unknown without it, and whether the month has it."""
    streams, consumers = facts.streams.now, facts.consumers.now
    servers, systems = facts.servers.now, facts.systems.now
    return (
        ("servers", "Servers, their storage, clocks and restarts: the account source does not see them.",
         servers.has(c.SERVER_UP)),
        ("consumers", "How long consumers were in which state: no verdict was recorded.",
         bool(month.verdicts.any())),
        ("publishing", "Publishes that were not stored: publish accounting was off, or the source cannot "
         "see them.", streams.has(c.STREAM_PUBLISHES_UNSTORED)),
        ("publishing", "Rejections by code, and the exact number of duplicates: the publish-ack tap was off.",
         systems.has(c.PUBLISH_ACK_TAP_ACTIVE)),
        ("abandoned", "Refused, ended and exhausted messages as they happened: nobody listened to "
         "advisories.", systems.has(c.ADVISORIES_CONNECTED_TIMESTAMP_SECONDS)),
        ("abandoned", "Whether somebody listens for abandoned messages: that is served at detail full only.",
         consumers.has(c.CONSUMER_DEAD_LETTER_CAPTURED)),
        ("configuration", "What the audit finds: no result of it was recorded.",
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
                f"Everything after {fmt.day(facts.as_of)}: the data end there, the month does not.",
            )
        )
    lacking = partial_days(facts)
    if lacking:
        found.append(("all", f"Some hours on {fmt.days_listed(lacking)}."))
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
    said = [
        f"{len(facts.days)} of {whole} days have data, {covered_hours(facts)} of {whole * HOURS} hours.",
        "Sums cover only those; worst values may have been worse in the gaps.",
    ]
    dropped = total(facts.systems.now.column(c.SERIES_DROPPED, Statistic.INCREASE))
    if dropped:
        said.append(f"The exporter left series out at its cap, {fmt.count(dropped)} times in all.")
    tap = total(facts.systems.now.column(c.PUBLISH_ACK_TAP_DROPPED, Statistic.INCREASE))
    if tap:
        said.append(
            f"The publish-ack tap missed {fmt.count(tap)} messages: duplicates and rejections are too low."
        )
    return said


def _unknown_table(facts: Facts, month: ConsumerMonth) -> Table:
    return Table(
        "unknown",
        "What this report cannot tell",
        (),
        (Column("chapter", "Chapter"), Column("what", "What is unknown, and why")),
        [Row(each) for each in unknowns(facts, month)],
        empty="Nothing is known to be missing.",
    )


def _gap_table(gaps: Sequence[RequestGap]) -> Table:
    return Table(
        "requests",
        "Requests not answered, or left out",
        (Column("system", "System"), Column("request", "Request")),
        (
            Column("why", "Why"),
            Column("share", "Share of the time", Kind.SHARE),
        ),
        [
            Row((gap.system, gap.request, f"left out: {gap.reason}" if gap.reason else "not answered in full",
                 gap.share))
            for gap in gaps
        ],
        empty="All requests that were recorded were answered.",
    )  # fmt: skip


def _strip(facts: Facts) -> DayStrip:
    rows = [DayRow(Name("any data"), tuple(_share(facts, day) for day in facts.month.all_days()))]
    rows += _by_system(facts)
    return DayStrip(
        "Which days are covered",
        "A full cell is a day with all its hours, a low one has some, an empty one has none.",
        facts.month.first,
        tuple(rows),
    )


def _share(facts: Facts, day: date) -> float | None:
    hours = facts.source.hours(day).bit_count()
    return hours / HOURS if hours else None


def _by_system(facts: Facts) -> list[DayRow]:
    """A system that was not watched on a day is as unknown as a missing day."""
    if len(facts.systems.now) < 2:
        return []
    return [
        DayRow(Name(name), tuple(_day_share(hours.get(day)) for day in facts.month.all_days()))
        for name, hours in hours_by_system(facts)
    ]


def _day_share(hours: int | None) -> float | None:
    return None if hours is None else hours / HOURS
