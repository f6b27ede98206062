"""Checks of the audit that failed in the month."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from exporter import catalog as c
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.source import (
    CONSUMER,
    STREAM,
    Name,
    folded,
    names_in,
)

SEVERITIES = ("crit", "warn", "info")


@dataclass(frozen=True, slots=True)
class FailingCheck:
    """A check that fails on a stream or on one of its consumers."""

    check: str
    severity: str
    name: Name  # system, account, stream
    assets: float | None
    state: str  # open, new or fixed
    since: date

    @property
    def order(self) -> tuple[int, str, Name]:
        index = SEVERITIES.index(self.severity) if self.severity in SEVERITIES else len(SEVERITIES)
        return (index, self.check, self.name)


def failing_checks(facts: Facts) -> list[FailingCheck]:
    metric = c.STREAM_CONFIG_FINDINGS.name
    extra = ("check", "severity")
    now, before = (
        folded(facts.source, [metric], STREAM, days, extra)
        for days in (facts.days, facts.days_before)
    )
    if not now.num_rows:
        return []
    labels = (*STREAM, *extra)
    known = set(names_in(before, labels)) if before.num_rows else set()
    found = []
    columns = (now[name].to_pylist() for name in ("last", "first_day", "last_day"))
    for name, assets, first, last in zip(names_in(now, labels), *columns, strict=True):
        fixed = last < facts.as_of - timedelta(days=1) or assets == 0
        is_new = bool(facts.days_before) and name not in known and first > facts.days[0]
        state = "fixed" if fixed else "new" if is_new else "open"
        found.append(FailingCheck(name[3], name[4], name[:3], assets, state, first))
    return sorted(found, key=lambda each: each.order)


def failing_consumer_checks(facts: Facts) -> list[tuple[Name, str, str]]:
    """Consumer, check and severity; the exporter serves them at detail full only."""
    extra = ("check", "severity")
    table = folded(facts.source, [c.CONSUMER_CONFIG_FINDING.name], CONSUMER, facts.days[-2:], extra)
    if not table.num_rows:
        return []
    names = names_in(table, (*CONSUMER, *extra))
    return sorted((name[:4], name[4], name[5]) for name in names)
