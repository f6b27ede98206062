"""The chapter on data quality: what is missing, and what is therefore unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from exporter import catalog as c
from spark_rollups.report import formatting as words
from spark_rollups.report.cell_values import Kind
from spark_rollups.report.chapters.consumers import ConsumerMonth
from spark_rollups.report.facts.assets import Of, rows_between
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.source import SYSTEM, folded, names_in, slices
from spark_rollups.report.figure_data import DayRow, DayStrip, Name
from spark_rollups.report.model import Chapter, Column, Row, Table
from spark_rollups.report.table_rows import total

_HOURS = 24


@dataclass(frozen=True, slots=True)
class Gap:
    """A request that was not always answered, or left out."""

    system: str
    request: str
    reason: str  # "" for one that failed
    share: float  # of the time


def partial_days(facts: Facts) -> list[date]:
    """Days with data that lack hours; the newest may simply not be over."""
    return [
        day
        for day in facts.days
        if facts.source.hours(day).bit_count() < _HOURS and day != facts.as_of
    ]


@dataclass(frozen=True, slots=True)
class Unwatched:
    """Days on which others have data and this system has none, or lacks hours."""

    system: str
    missing: tuple[date, ...]
    partial: tuple[date, ...]


def unwatched(facts: Facts) -> list[Unwatched]:
    """By system, from the day on which it was first seen; what all of them lack is told elsewhere."""
    shared = set(partial_days(facts))
    found = []
    known = _seen_before(facts)
    for name, hours in _hours_by_system(facts):
        since = facts.month.first if name in known else min(hours, default=date.max)
        days = [day for day in facts.days if day >= since]
        missing = tuple(day for day in days if day not in hours)
        partial = tuple(
            day
            for day in days
            if 0 < hours.get(day, 0) < _HOURS and day != facts.as_of and day not in shared
        )
        if missing or partial:
            found.append(Unwatched(name, missing, partial))
    return found


def _seen_before(facts: Facts) -> set[str]:
    before = facts.systems.before
    days = zip(before.names, before.day(c.UP, last=True), strict=True)
    return {name[0] for name, day in days if day is not None}


def _hours_by_system(facts: Facts) -> list[tuple[str, dict[date, int]]]:
    """Systems that were seen in the month, with the hours of each day that has polls."""
    systems = facts.systems.now
    found: dict[int, dict[date, int]] = {place: {} for place in range(len(systems))}
    for first, last in slices(facts.days):
        table = rows_between(facts.source, systems, c.UP, first, last, ("day", "hours"))
        columns = (table["day"].to_pylist(), table["hours"].to_pylist())
        for place, day, hours in zip(systems.places(table).tolist(), *columns, strict=True):
            if place >= 0:
                found[place][day] = hours
    return [
        (systems.names[place][0], hours) for place, hours in found.items() if systems.seen[place]
    ]


def covered_hours(facts: Facts) -> int:
    return sum(facts.source.hours(day).bit_count() for day in facts.days)


def gaps_of(facts: Facts) -> list[Gap]:
    skipped = folded(
        facts.source, [c.REQUEST_SKIPPED.name], SYSTEM, facts.days, ("request", "reason")
    )
    failed = folded(facts.source, [c.REQUEST_SUCCESS.name], SYSTEM, facts.days, ("request",))
    found = []
    if skipped.num_rows:
        names = names_in(skipped, ("system", "request", "reason"))
        found += [
            Gap(system, request, reason, share)
            for (system, request, reason), share in zip(
                names, _skipped(facts, skipped), strict=True
            )
            if share > 0
        ]
    if failed.num_rows:
        names = names_in(failed, ("system", "request"))
        means = _means(failed)
        found += [
            Gap(system, request, "", 1 - share)
            for (system, request), share in zip(names, means, strict=True)
            if share < 1
        ]
    return sorted(found, key=lambda gap: (-gap.share, gap.system, gap.request))


def _skipped(facts: Facts, table: Any) -> list[float]:
    """The series is there, as 1, only while a request is left out: its polls are those of the system."""
    systems = facts.systems.now
    counts = systems.of(c.UP, Of.COUNT).tolist()
    polls = {name[0]: count for name, count in zip(systems.names, counts, strict=True)}
    columns = (table["system"].to_pylist(), table["sum"].to_pylist())
    return [
        min((sums or 0.0) / polls[system], 1.0) if polls.get(system, 0.0) > 0 else 1.0
        for system, sums in zip(*columns, strict=True)
    ]


def _means(table: Any) -> list[float]:
    columns = (table["sum"].to_pylist(), table["count"].to_pylist())
    return [
        (sums or 0.0) / number if number else 0.0 for sums, number in zip(*columns, strict=True)
    ]


def unknowns(facts: Facts, month: ConsumerMonth) -> list[tuple[str, str]]:
    """What the report cannot tell, and why: chapter and sentence."""
    found = _missing_time(facts)
    if facts.forecasts_as_of is None:
        found.append(("limits", "Dates of all limits: no forecast was made for this month."))
    dateless = [each for each in facts.forecasts if each.outlook == "unknown"]
    if dateless:
        found.append(
            ("limits", f"Dates of {words.plural(len(dateless), 'limit')}: {dateless[0].reason}.")
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
        found.append(("all", f"Everything on {words.days_listed(facts.missing)}: no data."))
    if not facts.is_whole:
        found.append(
            (
                "all",
                f"Everything after {words.day(facts.as_of)}: the data end there, the month does not.",
            )
        )
    lacking = partial_days(facts)
    if lacking:
        found.append(("all", f"Some hours on {words.days_listed(lacking)}."))
    for each in unwatched(facts):
        if each.missing:
            days = words.days_listed(each.missing)
            found.append(("all", f"Everything of system {each.system} on {days}: no data."))
        if each.partial:
            days = words.days_listed(each.partial)
            found.append(("all", f"Some hours of system {each.system} on {days}."))
    return found


def quality_chapter(facts: Facts, month: ConsumerMonth, gaps: Sequence[Gap]) -> Chapter:
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
        f"{len(facts.days)} of {whole} days have data, {covered_hours(facts)} of {whole * _HOURS} hours.",
        "Sums cover only those; worst values may have been worse in the gaps.",
    ]
    dropped = total(facts.systems.now.of(c.SERIES_DROPPED, Of.INCREASE))
    if dropped:
        said.append(
            f"The exporter left series out at its cap, {words.count(dropped)} times in all."
        )
    tap = total(facts.systems.now.of(c.PUBLISH_ACK_TAP_DROPPED, Of.INCREASE))
    if tap:
        said.append(
            f"The publish-ack tap missed {words.count(tap)} messages: duplicates and rejections are too low."
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


def _gap_table(gaps: Sequence[Gap]) -> Table:
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
    return hours / _HOURS if hours else None


def _by_system(facts: Facts) -> list[DayRow]:
    """A system that was not watched on a day is as unknown as a missing day."""
    if len(facts.systems.now) < 2:
        return []
    return [
        DayRow(Name(name), tuple(_day_share(hours.get(day)) for day in facts.month.all_days()))
        for name, hours in _hours_by_system(facts)
    ]


def _day_share(hours: int | None) -> float | None:
    return None if hours is None else hours / _HOURS
