"""Rules about assets, changes, configuration and data: what has a finding.

A rule is a mask over the assets; its texts in codes.toml name the columns that they show."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from alerts import thresholds as t
from exporter import catalog as c
from spark_rollups.report import formatting as fmt
from spark_rollups.report.facts import monthly_facts as covered
from spark_rollups.report.facts.assets import Floats, Subject, known, total
from spark_rollups.report.facts.events import (
    CODES,
    SEVERITIES,
    CurrentState,
    Event,
    FailingCheck,
    Rejections,
)
from spark_rollups.report.facts.monthly_facts import Facts, RequestGap
from spark_rollups.report.facts.owners import Owners
from spark_rollups.report.facts.stores import Stores
from spark_rollups.report.findings.capacity import lag_advice
from spark_rollups.report.findings.finding import (
    Advice,
    Evidence,
    Finding,
    Severity,
    findings_of,
    make_finding,
)
from spark_rollups.report.formatting import Kind

_NOT_WELL_SHARE = 0.05  # of the time: a day and a half per month
_WORSE_FACTOR = 2.0  # a lag that at least doubled is worse
_WORSE_LEAST = 600.0  # seconds; a shorter lag is no finding
_CONDITIONS = 3  # in the evidence, the longest
_EPHEMERAL = "_ephemeral"  # the aggregated row of ephemeral consumers has no configuration
_UP_RATIO = 0.999  # 45 minutes per month
_UNUSED_RATIO = 0.2  # a reservation used less than this is too large
_LOOSE_FACTOR = 10  # a limit this many times above the peak protects from nothing
_LOOSE_LEAST = 1000  # smaller limits do no harm
# Conflicts of expected sequences; judged by their share, like the alert.
_CONFLICTS = ("10071", "10070", "10164")
_GIB = 1 << 30  # smaller reservations are no finding


def consumer_findings(facts: Facts, at_end: CurrentState, stores: Stores) -> Iterator[Finding]:
    now, lost = facts.consumers, facts.consumers["lost"] > 0

    def longer(index: int) -> Advice | None:
        return lag_advice(facts, stores, now.now.names[index], float(now["lag_seconds"][index]))

    yield from findings_of("CON-MESSAGES-LOST", facts, "consumers", lost, "lost", advice=longer)
    # A consumer that lost messages has a critical finding already.
    near = (now["headroom_least"] < facts.threshold(t.RETENTION_HEADROOM_RATIO)) & ~lost
    yield from findings_of(
        "CON-HEADROOM-LOW", facts, "consumers", near, 1 - now["headroom_least"], advice=longer
    )
    yield from findings_of(
        "CON-MESSAGES-ABANDONED", facts, "consumers", now["abandoned"] > 0, "abandoned",
        severity=np.where(now["lying"] > 0, Severity.WARNING, Severity.NOTE),
    )  # fmt: skip
    late = now["redelivery_cause"]
    often = now["redelivery_ratio"] > facts.threshold(t.REDELIVERY_RATIO)
    yield from findings_of(
        "CON-REDELIVERY-HIGH", facts, "consumers",
        often & (now["deliveries"] >= facts.threshold(t.DELIVERIES_LEAST)), "redelivery_ratio",
        ack_wait=lambda index: _wait(facts, index) if late[index] == "acked too late" else None,
    )  # fmt: skip
    yield from _not_well(facts, at_end)
    worst, before = now["lag_seconds"], now["lag_seconds_before"]
    worse = (worst >= _WORSE_FACTOR * before) & (worst >= _WORSE_LEAST)
    yield from findings_of("CON-LAG-WORSE", facts, "consumers", worse, "lag_seconds")
    yield from _ack_pending(facts)
    yield from findings_of(
        "SIZE-ACK-WAIT-SHORT", facts, "consumers",
        now["ack_share"] > facts.threshold(t.ACK_WAIT_RATIO), np.minimum(now["ack_share"], 100.0),
        took=lambda index: _took(float(now["slow_ack"][index])),
        ack_wait=lambda index: _wait(facts, index),
    )  # fmt: skip


def _not_well(facts: Facts, at_end: CurrentState) -> Iterator[Finding]:
    """For a large part of the month, or at its end; losses have a finding of their own."""
    conditions: dict[int, list[Evidence]] = defaultdict(list)
    for each in facts.consumers["conditions"]:
        held = Evidence(each.condition, known(each.share), Kind.SHARE)
        conditions[each.consumer].append(held)
    now_bad, share = at_end.needs_work & ~(facts.consumers["lost"] > 0), facts.consumers["not_well"]
    yield from findings_of(
        "CON-NOT-WELL", facts, "consumers", (share >= _NOT_WELL_SHARE) | now_bad,
        np.nan_to_num(share), now=at_end.text,
        more=lambda index: conditions.get(index, [])[:_CONDITIONS],
    )  # fmt: skip


def _ack_pending(facts: Facts) -> Iterator[Finding]:
    now = facts.consumers
    peak, limit = now["ack_pending_peak"], now["max_ack_pending"]
    finite = np.isfinite(limit) & np.array([name[-1] != _EPHEMERAL for name in now.now.names], bool)
    high = finite & (limit >= facts.threshold(t.ACK_PENDING_WINDOW_LEAST))
    high &= peak >= facts.threshold(t.ACK_PENDING_RATIO) * limit
    loose = finite & ~high & (limit > _LOOSE_LEAST) & (peak > 0) & (limit > _LOOSE_FACTOR * peak)
    yield from findings_of(
        "SIZE-ACK-PENDING-HIGH", facts, "consumers", high, peak / limit,
        max_pending=lambda index: math.ceil(2 * limit[index]),
    )  # fmt: skip
    yield from findings_of(
        "SIZE-ACK-PENDING-LOOSE", facts, "consumers", loose,
        lambda index: float(limit[index] / peak[index]),
        max_pending=lambda index: max(math.ceil(2 * peak[index]), 100),
    )  # fmt: skip


def _took(slow: float) -> str:
    return "longer than the largest bucket" if math.isinf(slow) else fmt.span(slow)


def _wait(facts: Facts, index: int) -> str | None:
    """Twice the slow acknowledgements; None without ack_wait."""
    slow, wait = (float(facts.consumers[name][index]) for name in ("slow_ack", "ack_wait_seconds"))
    if math.isnan(wait):
        return None
    wanted = max(2 * slow, wait) if math.isfinite(slow) else 2 * wait
    return f"{math.ceil(wanted)}s"


def stream_findings(facts: Facts, rejections: Sequence[Rejections]) -> Iterator[Finding]:
    now = facts.streams
    more = now["ephemerals"] - now["ephemerals_first"]
    yield from findings_of(
        "CON-EPHEMERALS-GROW", facts, "streams", more > facts.threshold(t.EPHEMERAL_GROWTH), more
    )
    yield from _unstored(facts)
    yield from _rejected(facts, rejections)
    yield from findings_of(
        "PUB-DEDUPE-MEMORY", facts, "streams", now["ids_memory"] > facts.threshold(t.DEDUPE_MEMORY),
        "ids_memory",
    )  # fmt: skip
    fills = {each.asset for each in facts.forecasts if each.fills and each.limit_name == "bytes"}
    growing = np.array([name in fills for name in now.now.names], bool)
    unused, peak = now["unused_bytes"], now["bytes_peak"]
    yield from findings_of(
        "SIZE-RESERVED-UNUSED", facts, "streams",
        (now["used"] < _UNUSED_RATIO) & (unused >= _GIB) & ~growing, "unused_bytes",
        max_bytes=lambda index: max(math.ceil(2 * peak[index] / _GIB), 1) * _GIB,
    )  # fmt: skip
    yield from findings_of("CHG-DATA-DAMAGED", facts, "streams", now["damaged"] > 0, "damaged")


def _unstored(facts: Facts) -> Iterator[Finding]:
    """Duplicates counted by the publish-ack tap are harmless and no finding."""
    now, line = facts.streams, facts.threshold(t.PUBLISH_UNSTORED_RATIO)
    exact, unstored = now["duplicates_exact"] >= 1, now["unstored"]
    wrong = np.maximum(unstored - np.nan_to_num(now["duplicates"]), 0.0)
    unexplained = np.where(exact, wrong, unstored)
    yield from findings_of(
        "PUB-NOT-STORED", facts, "streams",
        (now["unstored_ratio"] > line) & (unexplained > line * now["received"]), "unstored_ratio",
        severity=np.where(exact, Severity.WARNING, Severity.NOTE),
    )  # fmt: skip


def _rejected(facts: Facts, rejections: Sequence[Rejections]) -> Iterator[Finding]:
    line, stored = facts.threshold(t.PUBLISH_CONFLICT_RATIO), facts.streams["stored"]
    for each in rejections:
        index = facts.streams.now.position(each.name)
        whole = each.number + (math.nan if index is None else float(stored[index]))
        share = each.number / whole if whole > 0 else math.nan
        minor = each.code in _CONFLICTS and not share > line
        yield make_finding(
            "PUB-REJECTED", Subject(*each.name), facts.as_of, weight=each.number,
            severity=Severity.NOTE if minor else Severity.WARNING, number=each.number,
            share=known(share), error_code=each.code,
            meaning=CODES.get(each.code, "unknown code"),
        )  # fmt: skip


def server_findings(facts: Facts) -> Iterator[Finding]:
    now, up = facts.servers, facts.servers["up_ratio"]
    last_days = now.now.day(c.SERVER_UP, last=True)
    yield from findings_of(
        "SRV-NOT-RESPONDING", facts, "servers", up < _UP_RATIO, 1 - up,
        severity=np.where(up < 0.99, Severity.WARNING, Severity.NOTE),
        gone=[day if day is not None and day < facts.as_of else None for day in last_days],
    )  # fmt: skip
    lines: tuple[tuple[str, str, Floats | float], ...] = (
        ("SRV-API-ERRORS", "api_error_ratio", facts.threshold(t.API_ERROR_RATIO)),
        ("SRV-CLIENTS-CUT", "clients_cut", 0.0),
        ("CLK-OFFSET", "certain_seconds", facts.threshold(t.CLOCK_OFFSET)),
    )
    for code, column, line in lines:
        yield from findings_of(code, facts, "servers", now[column] > line, column)


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


def configuration_findings(
    facts: Facts, checks: Sequence[FailingCheck], owners: Owners
) -> Iterator[Finding]:
    """One per check and owner; the table of the chapter lists the streams."""
    grouped: dict[tuple[str, str, str], list[FailingCheck]] = defaultdict(list)
    for each in checks:
        if each.state != "fixed":
            owner = owners.of(Subject(*each.name)).name
            grouped[each.check, each.severity, owner].append(each)
    for (check, severity, _), group in grouped.items():
        assets = sum(each.assets or 0 for each in group)
        subject = Subject(*group[0].name) if len(group) == 1 else Subject(system=group[0].name[0])
        yield make_finding(
            "CFG-AUDIT", subject, facts.as_of, severity=_AUDIT.get(severity, Severity.NOTE),
            weight=assets + len(SEVERITIES), check=check, assets=assets, number=len(group),
            streams=[each.name[-1] for each in group],
            new=sum(each.state == "new" for each in group), one_of=Subject(*group[0].name),
        )  # fmt: skip


def data_findings(facts: Facts, gaps: Sequence[RequestGap]) -> Iterator[Finding]:
    yield from _days_missing(facts)
    grave = [gap for gap in gaps if gap.share >= _LEAST_SHARE]
    if grave:
        named = [f"{gap.request} ({fmt.share(gap.share)} of the time)" for gap in grave]
        yield make_finding(
            "DATA-REQUESTS-FAILED", Subject(), facts.as_of, requests=len(grave), named=named
        )
    dropped = total(facts.systems["dropped"])
    if dropped:
        yield make_finding("DATA-SERIES-DROPPED", Subject(), facts.as_of, dropped=dropped)
    if not facts.systems.now.has(c.ADVISORIES_CONNECTED_TIMESTAMP_SECONDS):
        yield make_finding("DATA-EVENTS-NOT-RECEIVED", Subject(), facts.as_of)


def _days_missing(facts: Facts) -> Iterator[Finding]:
    lacking, apart = covered.partial_days(facts), covered.missing_data(facts)
    if not facts.missing and not lacking and not apart:
        return
    grave = facts.missing or any(each.missing for each in apart)
    yield make_finding(
        "DATA-DAYS-MISSING", Subject(), facts.as_of, weight=len(facts.missing),
        severity=Severity.WARNING if grave else Severity.NOTE, missing=len(facts.missing),
        lacking=len(lacking), hours=covered.covered_hours(facts), days=facts.missing, partial=lacking,
        apart=[(each.system, sorted((*each.missing, *each.partial))) for each in apart],
    )  # fmt: skip
