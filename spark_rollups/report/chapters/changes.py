"""The chapter on changes: recreated, removed and restored assets, restarts and elections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from spark_rollups.report import formatting as fmt
from spark_rollups.report.cell_values import (
    Kind,
    Level,
)
from spark_rollups.report.facts.events import Event
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.model import Chapter, Column, Row, Table

# Frequent events: summed up in one table instead of listed by day.
FREQUENT = ("elections", "messages purged")
_CRITICAL = ("went back", "lost its quorum")
_WARNING = ("recreated", "restored", "durable consumers removed", "recreated or reset")
_LABELS = ("system", "account", "stream", "consumer", "server")


def changes_chapter(facts: Facts, events: Sequence[Event]) -> Chapter:
    rare = [event for event in events if event.what not in FREQUENT]
    return Chapter(
        "changes", "Changes", (_sentence(events),), (_table(rare), _frequent_table(facts, events))
    )


def _sentence(events: Sequence[Event]) -> str:
    if not events:
        return "No asset was seen to be recreated, removed, restored or restarted."
    counted = Counter(event.what for event in events if event.what not in FREQUENT)
    parts = [f"{what} {number:,}" for what, number in counted.most_common()]
    if not parts:
        return "Only elections and purges were seen."
    return f"Events by day: {fmt.listed(parts, shown=8)}."


def _table(events: Sequence[Event]) -> Table:
    return Table(
        "changes",
        "Day by day",
        tuple(Column(label, label.capitalize()) for label in _LABELS),
        (
            Column("what", "Event"),
            Column("day", "Day", Kind.DAY),
            Column("number", "Times", Kind.COUNT),
            Column("note", "Details"),
        ),
        [_row(event) for event in events],
        note="Newest first. Several on one day share a row.",
        empty="No events.",
    )


def _row(event: Event) -> Row:
    index = tuple(getattr(event.subject, label) for label in _LABELS)
    number = "" if event.number is None else event.number
    return Row((*index, event.what, event.day, number, event.note), _level(event.what))


def _level(what: str) -> Level:
    return (
        Level.CRITICAL if what in _CRITICAL else Level.WARNING if what in _WARNING else Level.NORMAL
    )


def _frequent_table(facts: Facts, events: Sequence[Event]) -> Table:
    totals: dict[tuple[tuple[str, ...], str], list[Event]] = {}
    for event in events:
        if event.what in FREQUENT:
            index = tuple(getattr(event.subject, label) for label in _LABELS)
            totals.setdefault((index, event.what), []).append(event)
    rows = [
        Row((*index, what, sum(each.number or 0 for each in group), float(len(group)),
             max(group, key=lambda each: each.number or 0).day))
        for (index, what), group in totals.items()
    ]  # fmt: skip
    rows.sort(key=lambda row: (str(row.values[5]), -float(str(row.values[6]))))
    return Table(
        "elections",
        "Elections and purges",
        tuple(Column(label, label.capitalize()) for label in _LABELS),
        (
            Column("what", "Event"),
            Column("number", "In the month", Kind.COUNT),
            Column("days", "Days", Kind.COUNT),
            Column("worst_day", "Most on", Kind.DAY),
        ),
        rows,
        empty="None.",
    )
