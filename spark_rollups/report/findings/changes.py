"""Findings about what changed, what the audit says, and what is not known at all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from alerts import thresholds as t
from exporter import catalog as c
from spark_rollups.report import formatting as fmt
from spark_rollups.report.cell_values import (
    Kind,
)
from spark_rollups.report.facts.arithmetic import total
from spark_rollups.report.facts.assets import Statistic
from spark_rollups.report.facts.audit_checks import SEVERITIES, FailingCheck
from spark_rollups.report.facts.coverage import (
    RequestGap,
    covered_hours,
    missing_data,
    partial_days,
)
from spark_rollups.report.facts.events import Event
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.subject import Subject, subject_of
from spark_rollups.report.findings import codes
from spark_rollups.report.findings.finding import Definition, Evidence, Finding, Severity, found

# What an event is a finding of, and how grave.
_OF_EVENTS: dict[str, tuple[Definition, Severity, str]] = {
    "went back": (codes.SEQUENCE_BACK, Severity.CRITICAL, "Stream {name} went back in its sequence"),
    "lost its quorum": (codes.QUORUM_LOST, Severity.WARNING, "Stream {name} lost its quorum"),
    "recreated": (codes.STREAM_RECREATED, Severity.WARNING, "Stream {name} was made again"),
    "restored": (codes.STREAM_RESTORED, Severity.NOTE, "Stream {name} was restored from a backup"),
    "recreated or reset": (
        codes.CONSUMER_RECREATED, Severity.WARNING, "Consumer {name} of {stream} was made again or reset",
    ),
    "durable consumers removed": (
        codes.CONSUMERS_REMOVED, Severity.WARNING, "Stream {name} lost durable consumers",
    ),
}  # fmt: skip
_AUDIT = {"crit": Severity.CRITICAL, "warn": Severity.WARNING, "info": Severity.NOTE}
_GRAVE_GAP = 0.01  # of the time


def change_findings(facts: Facts, events: Sequence[Event]) -> Iterator[Finding]:
    grouped: dict[tuple[str, Subject], list[Event]] = defaultdict(list)
    for event in events:
        if event.what in _OF_EVENTS:
            grouped[event.what, event.subject].append(event)
    for (what, subject), group in grouped.items():
        definition, severity, sentence = _OF_EVENTS[what]
        number = sum(event.number or 0 for event in group)
        days = fmt.days_listed([event.day for event in group])
        said = sentence.format(name=subject.name, stream=subject.stream)
        times = f", {fmt.count(number)} in all" if number > 1 else ""
        evidence = [Evidence("times", number, Kind.COUNT), Evidence("on", days)]
        yield found(
            definition,
            severity,
            subject,
            f"{said} on {days}{times}.",
            evidence,
            facts.as_of,
            weight=number,
        )
    yield from _elections(facts, events)
    yield from _damaged(facts)


def _elections(facts: Facts, events: Sequence[Event]) -> Iterator[Finding]:
    """A day with more elections than the alert allows in a quarter of an hour was not quiet."""
    line = facts.threshold(t.LEADER_CHANGES)
    worst: dict[Subject, Event] = {}
    for event in events:
        if event.what == "elections" and (event.number or 0) > line:
            known = worst.get(event.subject)
            if known is None or (event.number or 0) > (known.number or 0):
                worst[event.subject] = event
    for subject, event in worst.items():
        number = event.number or 0
        summary = f"Stream {subject.name} changed its leader {fmt.count(number)} times on {fmt.day(event.day)}."
        evidence = [
            Evidence("elections on that day", number, Kind.COUNT),
            Evidence("on", event.day, Kind.DAY),
        ]
        yield found(
            codes.LEADERS_MANY,
            Severity.NOTE,
            subject,
            summary,
            evidence,
            facts.as_of,
            weight=number,
        )


def _damaged(facts: Facts) -> Iterator[Finding]:
    now = facts.streams.now
    lost = now.column(c.STREAM_LOST_MESSAGES, Statistic.MAX)
    for index in np.flatnonzero(lost > 0).tolist():
        summary = (
            f"Stream {now.names[index][-1]}: the server found {fmt.count(float(lost[index]))} messages damaged "
            "or missing in its store."
        )
        evidence = [Evidence("damaged", float(lost[index]), Kind.COUNT)]
        yield found(
            codes.DATA_DAMAGED, Severity.CRITICAL, subject_of(now, index), summary, evidence, facts.as_of,
            weight=float(lost[index]),
        )  # fmt: skip


def configuration_findings(facts: Facts, checks: Sequence[FailingCheck]) -> Iterator[Finding]:
    """One for each check: where it fails stands in the chapter's table."""
    grouped: dict[tuple[str, str], list[FailingCheck]] = defaultdict(list)
    for each in checks:
        if each.state != "mended":
            grouped[each.check, each.severity].append(each)
    for (check, severity), group in grouped.items():
        streams = [each.name[-1] for each in group]
        assets = sum(each.assets or 0 for each in group)
        new = sum(each.state == "new" for each in group)
        fresh = f" {fmt.plural(new, 'is', 'are')} new in this month." if new else ""
        summary = (
            f"The check {check} of the audit fails on {fmt.plural(round(assets), 'asset')} "
            f"({fmt.listed(streams)}).{fresh}"
        )
        evidence = [
            Evidence("check", check),
            Evidence("assets", assets, Kind.COUNT),
            Evidence("streams", len(group), Kind.COUNT),
        ]
        subject = Subject(*group[0].name) if len(group) == 1 else Subject(system=group[0].name[0])
        yield found(
            codes.CONFIGURATION, _AUDIT.get(severity, Severity.NOTE), subject, summary, evidence, facts.as_of,
            weight=assets + len(SEVERITIES), values={"check": check},
        )  # fmt: skip


def data_findings(facts: Facts, gaps: Sequence[RequestGap]) -> Iterator[Finding]:
    yield from _days_missing(facts)
    yield from _requests(facts, gaps)
    dropped = total(facts.systems.now.column(c.SERIES_DROPPED, Statistic.INCREASE))
    if dropped:
        yield found(
            codes.SERIES_DROPPED, Severity.WARNING, Subject(),
            f"The exporter left series out at its cap, {fmt.count(dropped)} times in all.",
            [Evidence("left out", dropped, Kind.COUNT)], facts.as_of,
        )  # fmt: skip
    if not facts.systems.now.has(c.ADVISORIES_CONNECTED_TIMESTAMP_SECONDS):
        yield found(
            codes.EVENTS_NOT_RECEIVED, Severity.NOTE, Subject(),
            "Nobody listened to advisories in this month: what only they tell is unknown.", [], facts.as_of,
        )  # fmt: skip


def _days_missing(facts: Facts) -> Iterator[Finding]:
    lacking = partial_days(facts)
    apart = missing_data(facts)
    if not facts.missing and not lacking and not apart:
        return
    parts = []
    if facts.missing:
        parts.append(
            f"{fmt.plural(len(facts.missing), 'day has', 'days have')} no data at all "
            f"({fmt.days_listed(facts.missing)})"
        )
    if lacking:
        parts.append(
            f"{fmt.plural(len(lacking), 'day lacks', 'days lack')} hours ({fmt.days_listed(lacking)})"
        )
    parts += [
        f"system {each.system} lacks {fmt.days_listed(sorted((*each.missing, *each.partial)))}, in whole or in part"
        for each in apart
    ]
    evidence = [
        Evidence("days missing", len(facts.missing), Kind.COUNT),
        Evidence("days that lack hours", len(lacking), Kind.COUNT),
        Evidence("hours with data", covered_hours(facts), Kind.COUNT),
    ]
    grave = facts.missing or any(each.missing for each in apart)
    severity = Severity.WARNING if grave else Severity.NOTE
    summary = f"{fmt.capital(' and '.join(parts))}."
    yield found(codes.DAYS_MISSING, severity, Subject(), summary, evidence, facts.as_of,
                weight=len(facts.missing))  # fmt: skip


def _requests(facts: Facts, gaps: Sequence[RequestGap]) -> Iterator[Finding]:
    grave = [gap for gap in gaps if gap.share >= _GRAVE_GAP]
    if not grave:
        return
    named = [f"{gap.request} ({fmt.share(gap.share)} of the time)" for gap in grave]
    summary = (
        f"Not answered or left out: {fmt.listed(named)}. What hangs on it is unknown for that time."
    )
    yield found(
        codes.REQUESTS_FAILED, Severity.NOTE, Subject(), summary,
        [Evidence("requests", len(grave), Kind.COUNT)], facts.as_of,
    )  # fmt: skip
