"""Rules about changes, failing checks of the audit, and missing data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from alerts import thresholds as t
from exporter import catalog as c
from spark_rollups.report import formatting as fmt
from spark_rollups.report.facts.assets import Subject, total
from spark_rollups.report.facts.events import SEVERITIES, Event, FailingCheck
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.polls import (
    RequestGap,
    covered_hours,
    missing_data,
    partial_days,
)
from spark_rollups.report.findings.finding import Finding, Severity, findings_of, make_finding

# The finding of each kind of event.
_EVENT_CODES = {
    "went back": "CHG-SEQUENCE-BACK",
    "lost its quorum": "CHG-QUORUM-LOST",
    "recreated": "CHG-STREAM-RECREATED",
    "restored": "CHG-STREAM-RESTORED",
    "recreated or reset": "CHG-CONSUMER-RECREATED",
    "durable consumers removed": "CHG-CONSUMERS-REMOVED",
}
_AUDIT = {"crit": Severity.CRITICAL, "warn": Severity.WARNING}
_LEAST_SHARE = 0.01  # of the time


def change_findings(facts: Facts, events: Sequence[Event]) -> Iterator[Finding]:
    grouped: dict[tuple[str, Subject], list[Event]] = defaultdict(list)
    for event in events:
        grouped[event.what, event.subject].append(event)
    line = facts.threshold(t.LEADER_CHANGES)
    for (what, subject), group in grouped.items():
        if what in _EVENT_CODES:
            times, days = sum(each.number or 0 for each in group), [each.day for each in group]
            yield make_finding(
                _EVENT_CODES[what], subject, facts.as_of, weight=times, times=times, days=days,
                on=fmt.days_listed(days),
            )  # fmt: skip
        elif what == "elections":
            # More elections on a day than the alert allows in 15 minutes.
            worst = max(group, key=lambda each: each.number or 0)
            if (number := worst.number or 0) > line:
                yield make_finding(
                    "CHG-LEADERS-MANY", subject, facts.as_of, weight=number, number=number,
                    day=worst.day,
                )  # fmt: skip
    lost = facts.streams.now.highest(c.STREAM_LOST_MESSAGES)
    yield from findings_of(
        "CHG-DATA-DAMAGED", facts, facts.streams.now, lost > 0, weight=lost, lost=lost
    )


def configuration_findings(facts: Facts, checks: Sequence[FailingCheck]) -> Iterator[Finding]:
    """One per check; the table of the chapter lists the streams."""
    grouped: dict[tuple[str, str], list[FailingCheck]] = defaultdict(list)
    for each in checks:
        if each.state != "fixed":
            grouped[each.check, each.severity].append(each)
    for (check, severity), group in grouped.items():
        assets = sum(each.assets or 0 for each in group)
        subject = Subject(*group[0].name) if len(group) == 1 else Subject(system=group[0].name[0])
        yield make_finding(
            "CFG-AUDIT", subject, facts.as_of, severity=_AUDIT.get(severity, Severity.NOTE),
            weight=assets + len(SEVERITIES), check=check, assets=assets, number=len(group),
            streams=[each.name[-1] for each in group],
            new=sum(each.state == "new" for each in group),
        )  # fmt: skip


def data_findings(facts: Facts, gaps: Sequence[RequestGap]) -> Iterator[Finding]:
    yield from _days_missing(facts)
    grave = [gap for gap in gaps if gap.share >= _LEAST_SHARE]
    if grave:
        named = [f"{gap.request} ({fmt.share(gap.share)} of the time)" for gap in grave]
        yield make_finding(
            "DATA-REQUESTS-FAILED", Subject(), facts.as_of, requests=len(grave), named=named
        )
    dropped = total(facts.systems.now.increase(c.SERIES_DROPPED))
    if dropped:
        yield make_finding("DATA-SERIES-DROPPED", Subject(), facts.as_of, dropped=dropped)
    if not facts.systems.now.has(c.ADVISORIES_CONNECTED_TIMESTAMP_SECONDS):
        yield make_finding("DATA-EVENTS-NOT-RECEIVED", Subject(), facts.as_of)


def _days_missing(facts: Facts) -> Iterator[Finding]:
    lacking, apart = partial_days(facts), missing_data(facts)
    if not facts.missing and not lacking and not apart:
        return
    grave = facts.missing or any(each.missing for each in apart)
    yield make_finding(
        "DATA-DAYS-MISSING", Subject(), facts.as_of, weight=len(facts.missing),
        severity=Severity.WARNING if grave else Severity.NOTE, missing=len(facts.missing),
        lacking=len(lacking), hours=covered_hours(facts), days=facts.missing, partial=lacking,
        apart=[(each.system, sorted((*each.missing, *each.partial))) for each in apart],
    )  # fmt: skip
