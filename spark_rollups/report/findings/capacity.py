"""Rules about capacity: limits that are reached or will be, and unknown dates."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import numpy as np

from alerts import thresholds as t
from exporter import catalog as c
from exporter.metric import Metric
from spark_rollups.forecasting.models.result import Outlook
from spark_rollups.report.facts.assets import Assets, Subject, divided
from spark_rollups.report.facts.forecasts import Forecast
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.stores import Stores, discards_old, is_near
from spark_rollups.report.findings.advice import stream_advice
from spark_rollups.report.findings.finding import Finding, Severity, findings_of, make_finding
from spark_rollups.report.formatting import amount

# Act this long before the earliest date: orders, approvals and disks take time.
_LEAD = timedelta(days=7)


def capacity_findings(facts: Facts, stores: Stores) -> Iterator[Finding]:
    for each in facts.forecasts:
        if each.fills and each.level is not None and each.limit is not None:
            yield from _of_forecast(facts, stores, each)
    yield from _unknown_dates(facts)
    line = facts.threshold(t.SERVER_STORAGE_RATIO)
    for used, limit, what in (
        (c.SERVER_STORAGE_USED_BYTES, c.SERVER_STORAGE_MAX_BYTES, "file"),
        (c.SERVER_MEMORY_USED_BYTES, c.SERVER_MEMORY_MAX_BYTES, "memory"),
    ):
        yield from _high(
            "CAP-SERVER-STORAGE-HIGH", facts, facts.servers.now, used, limit, what, line
        )
    line = facts.threshold(t.ACCOUNT_HIGH_RATIO)
    for used, limit, what in (
        (c.ACCOUNT_STORAGE_USED_BYTES, c.ACCOUNT_STORAGE_LIMIT_BYTES, "storage"),
        (c.ACCOUNT_MEMORY_USED_BYTES, c.ACCOUNT_MEMORY_LIMIT_BYTES, "memory"),
    ):
        yield from _high("CAP-ACCOUNT-HIGH", facts, facts.accounts.now, used, limit, what, line)


def _of_forecast(facts: Facts, stores: Stores, each: Forecast) -> Iterator[Finding]:
    severity, by = _severity(facts, each), None
    code = f"CAP-{each.subject.upper()}-FULL-SOON"
    if each.outlook == Outlook.REACHED:
        if not each.stream or discards_old(facts, each):
            return
        code, severity, by = "CAP-STREAM-FULL", Severity.CRITICAL, each.as_of
    elif severity is not Severity.NOTE:
        by = max((each.earliest or each.likely or each.as_of) - _LEAD, each.as_of)
    level, limit, growth = (
        amount(value, each.is_bytes) for value in (each.level, each.limit, each.growth_per_day)
    )
    yield make_finding(
        code, Subject(each.system, each.account, each.stream, "", each.server), each.as_of,
        severity=severity, by=by, weight=(each.level or 0.0) / (each.limit or 1.0),
        advice=stream_advice(facts, stores, each) if each.stream else None,
        kind=each.subject, level=level, limit=limit, growth=growth, error=each.error,
        earliest=each.earliest, likely=each.likely, latest=each.latest,
        only_possible=each.outlook == Outlook.WATCH, drops=discards_old(facts, each),
    )  # fmt: skip


def _severity(facts: Facts, each: Forecast) -> Severity:
    """Critical within the horizon of the alert; a note if only possible, or full by design."""
    if each.outlook == Outlook.WATCH or discards_old(facts, each):
        return Severity.NOTE
    return Severity.CRITICAL if is_near(facts, each) else Severity.WARNING


def _unknown_dates(facts: Facts) -> Iterator[Finding]:
    """One finding for all of them; the table of limits lists each."""
    dateless = [each for each in facts.forecasts if each.outlook == Outlook.UNKNOWN]
    if dateless:
        yield make_finding(
            "CAP-FORECAST-UNKNOWN", Subject(), facts.as_of, limits=len(dateless),
            names=sorted(each.name for each in dateless),
            reasons=sorted({each.reason for each in dateless}),
        )  # fmt: skip


def _high(
    code: str, facts: Facts, assets: Assets, level: Metric, most: Metric, what: str, line: float
) -> Iterator[Finding]:
    used, limit = assets.at_end(level), assets.limit(most, level)
    fill = divided(used, limit)
    server = code.startswith("CAP-SERVER")
    mask = fill > line if server else fill >= line
    critical = server | (fill >= facts.threshold(t.ACCOUNT_FULL_RATIO))
    return findings_of(
        code, facts, assets, mask, weight=fill, used=used, limit=limit, fill=fill, what=what,
        severity=np.where(critical, Severity.CRITICAL, Severity.WARNING),
    )  # fmt: skip
