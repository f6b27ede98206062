"""Findings about changes, failing checks of the audit, and missing data."""

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
from spark_rollups.report.facts.assets import Statistic, Subject, subject_of, total
from spark_rollups.report.facts.coverage import (
    RequestGap,
    covered_hours,
    missing_data,
    partial_days,
)
from spark_rollups.report.facts.events import SEVERITIES, Event, FailingCheck
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.findings import codes
from spark_rollups.report.findings.finding import (
    Definition,
    Evidence,
    Finding,
    Severity,
    make_finding,
)

# The finding and severity of each kind of event.
_EVENT_FINDINGS: dict[str, tuple[Definition, Severity, str]] = {
    "went back": (codes.SEQUENCE_BACK, Severity.CRITICAL, "Stream {name} went back in its sequence"),
    "lost its quorum": (codes.QUORUM_LOST, Severity.WARNING, "Stream {name} lost its quorum"),
    "recreated": (codes.STREAM_RECREATED, Severity.WARNING, "Stream {name} was recreated"),
    "restored": (codes.STREAM_RESTORED, Severity.NOTE, "Stream {name} was restored from a backup"),
    "recreated or reset": (
        codes.CONSUMER_RECREATED, Severity.WARNING, "Consumer {name} of {stream} was recreated or reset",
    ),
    "durable consumers removed": (
        codes.CONSUMERS_REMOVED, Severity.WARNING, "Stream {name} lost durable consumers",
    ),
}  # fmt: skip
_AUDIT = {"crit": Severity.CRITICAL, "warn": Severity.WARNING, "info": Severity.NOTE}
_LEAST_SHARE = 0.01  # of the time


def change_findings(facts: Facts, events: Sequence[Event]) -> Iterator[Finding]:
    grouped: dict[tuple[str, Subject], list[Event]] = defaultdict(list)
    for event in events:
        if event.what in _EVENT_FINDINGS:
            grouped[event.what, event.subject].append(event)
    for (what, subject), group in grouped.items():
        definition, severity, sentence = _EVENT_FINDINGS[what]
        number = sum(event.number or 0 for event in group)
        days = fmt.days_listed([event.day for event in group])
        text = sentence.format(name=subject.name, stream=subject.stream)
        times = f", {fmt.count(number)} in total" if number > 1 else ""
        evidence = [Evidence("times", number, Kind.COUNT), Evidence("on", days)]
        yield make_finding(
            definition,
            severity,
            subject,
            f"{text} on {days}{times}.",
            evidence,
            facts.as_of,
            weight=number,
        )
    yield from _elections(facts, events)
    yield from _damaged(facts)


def _elections(facts: Facts, events: Sequence[Event]) -> Iterator[Finding]:
    """Streams with more elections on a day than the alert allows in 15 minutes."""
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
        yield make_finding(
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
        yield make_finding(
            codes.DATA_DAMAGED, Severity.CRITICAL, subject_of(now, index), summary, evidence, facts.as_of,
            weight=float(lost[index]),
        )  # fmt: skip


def configuration_findings(facts: Facts, checks: Sequence[FailingCheck]) -> Iterator[Finding]:
    """One per check; the table of the chapter lists the streams."""
    grouped: dict[tuple[str, str], list[FailingCheck]] = defaultdict(list)
    for each in checks:
        if each.state != "fixed":
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
        yield make_finding(
            codes.CONFIGURATION, _AUDIT.get(severity, Severity.NOTE), subject, summary, evidence, facts.as_of,
            weight=assets + len(SEVERITIES), values={"check": check},
        )  # fmt: skip


def data_findings(facts: Facts, gaps: Sequence[RequestGap]) -> Iterator[Finding]:
    yield from _days_missing(facts)
    yield from _requests(facts, gaps)
    dropped = total(facts.systems.now.column(c.SERIES_DROPPED, Statistic.INCREASE))
    if dropped:
        yield make_finding(
            codes.SERIES_DROPPED, Severity.WARNING, Subject(),
            f"The exporter dropped series at its limit, {fmt.count(dropped)} times in total.",
            [Evidence("dropped", dropped, Kind.COUNT)], facts.as_of,
        )  # fmt: skip
    if not facts.systems.now.has(c.ADVISORIES_CONNECTED_TIMESTAMP_SECONDS):
        yield make_finding(
            codes.EVENTS_NOT_RECEIVED, Severity.NOTE, Subject(),
            "No advisories were received in this month: what only they report is unknown.", [], facts.as_of,
        )  # fmt: skip


def _days_missing(facts: Facts) -> Iterator[Finding]:
    lacking = partial_days(facts)
    apart = missing_data(facts)
    if not facts.missing and not lacking and not apart:
        return
    parts = []
    if facts.missing:
        parts.append(
            f"{fmt.plural(len(facts.missing), 'day has', 'days have')} no data "
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
        Evidence("incomplete days", len(lacking), Kind.COUNT),
        Evidence("hours with data", covered_hours(facts), Kind.COUNT),
    ]
    grave = facts.missing or any(each.missing for each in apart)
    severity = Severity.WARNING if grave else Severity.NOTE
    summary = f"{fmt.capital(' and '.join(parts))}."
    yield make_finding(codes.DAYS_MISSING, severity, Subject(), summary, evidence, facts.as_of,
                weight=len(facts.missing))  # fmt: skip


def _requests(facts: Facts, gaps: Sequence[RequestGap]) -> Iterator[Finding]:
    grave = [gap for gap in gaps if gap.share >= _LEAST_SHARE]
    if not grave:
        return
    named = [f"{gap.request} ({fmt.share(gap.share)} of the time)" for gap in grave]
    summary = (
        f"Failed or skipped: {fmt.listed(named)}. What depends on them is unknown for that time."
    )
    yield make_finding(
        codes.REQUESTS_FAILED, Severity.NOTE, Subject(), summary,
        [Evidence("requests", len(grave), Kind.COUNT)], facts.as_of,
    )  # fmt: skip
