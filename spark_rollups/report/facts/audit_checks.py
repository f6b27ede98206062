"""Checks of the audit that failed in the month."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, timedelta

from exporter import catalog as c
from spark_rollups.report.facts.assets import Name, Statistic
from spark_rollups.report.facts.monthly_facts import Facts

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
    pair, metric = facts.others["checks"], c.STREAM_CONFIG_FINDINGS
    columns = (
        pair.now.column(metric, Statistic.LAST).tolist(), pair.now.day(metric, last=False),
        pair.now.day(metric, last=True), pair.before.seen.tolist(),
    )  # fmt: skip
    found = []
    for name, assets, first, last, known in zip(pair.now.names, *columns, strict=True):
        if first is None or last is None:
            continue
        fixed = last < facts.as_of - timedelta(days=1) or assets == 0
        is_new = bool(facts.days_before) and not known and first > facts.days[0]
        state = "fixed" if fixed else "new" if is_new else "open"
        number = None if math.isnan(assets) else assets
        found.append(FailingCheck(name[3], name[4], name[:3], number, state, first))
    return sorted(found, key=lambda each: each.order)


def failing_consumer_checks(facts: Facts) -> list[tuple[Name, str, str]]:
    """Consumer, check and severity; the exporter serves them at detail full only."""
    found = facts.others["consumer_checks"].now
    lasts = found.day(c.CONSUMER_CONFIG_FINDING, last=True)
    since = facts.days[-2:][0]
    named = zip(found.names, lasts, strict=True)
    return sorted(
        (name[:4], name[4], name[5]) for name, last in named if last is not None and last >= since
    )
