"""Findings about capacity: limits that are reached or will be, and unknown dates."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date, timedelta

import numpy as np

from alerts import thresholds as t
from exporter import catalog as c
from spark_rollups.forecasting.models.result import Outlook
from spark_rollups.report import formatting as fmt
from spark_rollups.report.cell_values import (
    Kind,
    amount,
    amount_text,
)
from spark_rollups.report.facts.assets import Subject, divided, subject_of
from spark_rollups.report.facts.forecasts import Forecast
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.stores import Stores, discards_old
from spark_rollups.report.findings import codes
from spark_rollups.report.findings.advice import Advice, stream_advice
from spark_rollups.report.findings.finding import (
    Definition,
    Evidence,
    Finding,
    Severity,
    make_finding,
)

_SOON = {"stream": codes.STREAM_FULL_SOON, "server": codes.SERVER_FULL_SOON,
         "account": codes.ACCOUNT_FULL_SOON}  # fmt: skip
# Act this long before the earliest date: orders, approvals and disks take time.
LEAD = timedelta(days=7)


def capacity_findings(facts: Facts, stores: Stores) -> Iterator[Finding]:
    for each in facts.forecasts:
        yield from _of_forecast(facts, stores, each)
    yield from _unknown_dates(facts)
    yield from _servers_high(facts)
    yield from _accounts_high(facts)


def _of_forecast(facts: Facts, stores: Stores, each: Forecast) -> Iterator[Finding]:
    if not each.fills or each.level is None or each.limit is None:
        return
    if each.outlook == Outlook.REACHED:
        if each.stream and not discards_old(facts, each):
            yield _full(facts, stores, each)
        return
    severity = _severity(facts, each)
    when = _when(each)
    verb = "may" if each.outlook == Outlook.WATCH else "will"
    summary = (
        f"{fmt.capital(each.subject)} {each.name} {verb} reach its limit of "
        f"{amount_text(each.limit, each.is_bytes)} {when}: it holds {amount_text(each.level, each.is_bytes)} "
        f"({fmt.share(each.level / each.limit)}){_growth(each)}."
    )
    if discards_old(facts, each):
        summary += " From then on it drops its oldest messages."
    first = each.earliest or each.likely or each.as_of
    by = max(first - LEAD, each.as_of) if severity is not Severity.NOTE else None
    advice = stream_advice(facts, stores, each) if each.stream else None
    yield _finding(_SOON[each.subject], severity, each, summary, by, advice)


def _full(facts: Facts, stores: Stores, each: Forecast) -> Finding:
    summary = (
        f"Stream {each.name} is full: {amount_text(each.level, each.is_bytes)} of {amount_text(each.limit, each.is_bytes)}. "
        "It refuses new messages."
    )
    advice = stream_advice(facts, stores, each)
    return _finding(codes.STREAM_FULL, Severity.CRITICAL, each, summary, each.as_of, advice)


def _finding(
    definition: Definition, severity: Severity, each: Forecast, summary: str, by: date | None,
    advice: Advice | None,
) -> Finding:  # fmt: skip
    subject = Subject(each.system, each.account, each.stream, "", each.server)
    return make_finding(
        definition, severity, subject, summary, _evidence(each), each.as_of, by=by,
        weight=(each.level or 0.0) / (each.limit or math.inf), advice=advice,
    )  # fmt: skip


def _evidence(each: Forecast) -> list[Evidence]:
    return [
        Evidence("used", amount(each.level, each.is_bytes), Kind.COUNT),
        Evidence("limit", amount(each.limit, each.is_bytes), Kind.COUNT),
        Evidence("growth a day", amount(each.growth_per_day, each.is_bytes), Kind.COUNT),
        Evidence("earliest", each.earliest, Kind.DAY),
        Evidence("likely", each.likely, Kind.DAY),
        Evidence("latest", each.latest, Kind.DAY),
        Evidence("backtest error", each.error, Kind.SHARE),
    ]


def _severity(facts: Facts, each: Forecast) -> Severity:
    """Critical within the horizon of the alert; a note if only possible, or full by design."""
    if each.outlook == Outlook.WATCH or discards_old(facts, each):
        return Severity.NOTE
    horizon = timedelta(seconds=facts.threshold(t.FORECAST_HORIZON))
    soon = each.likely is not None and each.likely <= each.as_of + horizon
    return Severity.CRITICAL if soon else Severity.WARNING


def _when(each: Forecast) -> str:
    if each.likely is None:
        return (
            f"on {fmt.day(each.earliest)} at the earliest"
            if each.earliest
            else "on an unknown date"
        )
    around = f"around {fmt.day(each.likely)}"
    if each.earliest is None or each.earliest == each.likely:
        return around
    return f"{around} ({fmt.day_range(each.earliest, each.latest)})"


def _growth(each: Forecast) -> str:
    if not each.growth_per_day or each.growth_per_day < 0:
        return ""
    return f" and grows by {amount_text(each.growth_per_day, each.is_bytes)} a day"


def _unknown_dates(facts: Facts) -> Iterator[Finding]:
    """One finding for all of them; the table of limits lists each."""
    dateless = [each for each in facts.forecasts if each.outlook == Outlook.UNKNOWN]
    if not dateless:
        return
    reasons = {each.reason for each in dateless}
    summary = (
        f"The date of {fmt.plural(len(dateless), 'limit')} is unknown "
        f"({fmt.listed(sorted(each.name for each in dateless))}): {fmt.listed(sorted(reasons))}."
    )
    yield make_finding(
        codes.FORECAST_UNKNOWN, Severity.NOTE, Subject(), summary,
        [Evidence("limits without a date", len(dateless), Kind.COUNT)], facts.as_of,
    )  # fmt: skip


def _servers_high(facts: Facts) -> Iterator[Finding]:
    now = facts.servers.now
    line = facts.threshold(t.SERVER_STORAGE_RATIO)
    for used, most, what in (
        (c.SERVER_STORAGE_USED_BYTES, c.SERVER_STORAGE_MAX_BYTES, "file storage"),
        (c.SERVER_MEMORY_USED_BYTES, c.SERVER_MEMORY_MAX_BYTES, "memory storage"),
    ):
        size, limit = now.at_end(used), now.limit(most, used)
        fill = divided(size, limit)
        for index in np.flatnonzero(fill > line).tolist():
            summary = (
                f"Server {now.names[index][-1]} used {fmt.share(fill[index])} of its JetStream {what} at "
                f"the end of the month."
            )
            evidence = [
                Evidence("used", float(size[index]), Kind.BYTES),
                Evidence("maximum", float(limit[index]), Kind.BYTES),
            ]
            yield make_finding(
                codes.SERVER_STORAGE_HIGH, Severity.CRITICAL, subject_of(now, index), summary, evidence,
                facts.as_of, weight=float(fill[index]),
            )  # fmt: skip


def _accounts_high(facts: Facts) -> Iterator[Finding]:
    now = facts.accounts.now
    high, full = facts.threshold(t.ACCOUNT_HIGH_RATIO), facts.threshold(t.ACCOUNT_FULL_RATIO)
    for used, most, what in (
        (c.ACCOUNT_STORAGE_USED_BYTES, c.ACCOUNT_STORAGE_LIMIT_BYTES, "storage"),
        (c.ACCOUNT_MEMORY_USED_BYTES, c.ACCOUNT_MEMORY_LIMIT_BYTES, "memory"),
    ):
        size, limit = now.at_end(used), now.limit(most, used)
        fill = divided(size, limit)
        for index in np.flatnonzero(fill >= high).tolist():
            summary = (
                f"Account {now.names[index][1]} used {fmt.share(fill[index])} of its {what} limit of "
                f"{fmt.bytes_text(limit[index])} at the end of the month."
            )
            evidence = [
                Evidence("used", float(size[index]), Kind.BYTES),
                Evidence("limit", float(limit[index]), Kind.BYTES),
            ]
            severity = Severity.CRITICAL if fill[index] >= full else Severity.WARNING
            yield make_finding(
                codes.ACCOUNT_HIGH, severity, subject_of(now, index), summary, evidence, facts.as_of,
                weight=float(fill[index]),
            )  # fmt: skip
