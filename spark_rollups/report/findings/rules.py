"""Rules about assets, changes, configuration and data: what has a finding.

A rule is a mask over the assets and the values of its texts in codes.toml."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from alerts import thresholds as t
from exporter import catalog as c
from spark_rollups.report import formatting as fmt
from spark_rollups.report.facts import consumers, events, polls
from spark_rollups.report.facts.assets import Floats, Subject, known, total
from spark_rollups.report.facts.events import SEVERITIES, Event, FailingCheck
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.owners import Owners
from spark_rollups.report.facts.stores import Stores
from spark_rollups.report.findings.capacity import age_advice
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
# Conflicts of expected sequences; judged by their share, like the alert.
_CONFLICTS = ("10071", "10070", "10164")
_GIB = 1 << 30  # smaller reservations are no finding


def consumer_findings(
    facts: Facts, month: consumers.ConsumerMonth, at_end: consumers.CurrentState,
    sizes: consumers.Sizing, stores: Stores,
) -> Iterator[Finding]:  # fmt: skip
    now = facts.consumers.now
    found = partial(findings_of, facts=facts, assets=now)
    longer = partial(_longer, facts, stores, month.lag)
    yield from found(
        "CON-MESSAGES-LOST", mask=month.lost > 0, weight=month.lost, advice=longer, lag=month.lag,
        exact=now.lowest(c.CONSUMER_LOST_EXACT) >= 1, lost=month.lost, before=month.lost_before,
    )  # fmt: skip
    yield from _headroom(facts, month, longer)
    yield from _abandoned(facts)
    yield from _redelivery(facts, month, sizes)
    yield from _not_well(facts, month, at_end)
    worse = (month.lag >= _WORSE_FACTOR * month.lag_before) & (month.lag >= _WORSE_LEAST)
    yield from found(
        "CON-LAG-WORSE", mask=worse, weight=month.lag, lag=month.lag, before=month.lag_before,
        day=month.lag_day,
    )  # fmt: skip
    yield from _ack_pending(facts, sizes)
    yield from found(
        "SIZE-ACK-WAIT-SHORT", mask=sizes.ack_share > facts.threshold(t.ACK_WAIT_RATIO),
        weight=np.minimum(sizes.ack_share, 100.0), wait=sizes.ack_wait,
        took=lambda index: _took(float(sizes.slow_ack[index])),
        ack_wait=lambda index: _wait(sizes, index),
    )  # fmt: skip
    streams = facts.streams.now
    first, last = (each(c.STREAM_EPHEMERAL_CONSUMERS) for each in (streams.first, streams.last))
    yield from findings_of(
        "CON-EPHEMERALS-GROW", facts, streams, last - first > facts.threshold(t.EPHEMERAL_GROWTH),
        weight=last - first, first=first, last=last,
    )  # fmt: skip


def _longer(facts: Facts, stores: Stores, lag: Floats, index: int) -> Advice | None:
    return age_advice(facts, stores, facts.consumers.now.names[index][:3], float(lag[index]))


def _headroom(
    facts: Facts, month: consumers.ConsumerMonth, longer: Callable[[int], Advice | None]
) -> Iterator[Finding]:
    now = facts.consumers.now
    seconds = now.lowest(c.CONSUMER_RETENTION_HEADROOM_SECONDS)
    with np.errstate(invalid="ignore", divide="ignore"):
        by_age = seconds / (seconds + month.lag)  # max_age is headroom plus lag
    least = np.fmin(now.lowest(c.CONSUMER_RETENTION_HEADROOM_RATIO), by_age)
    # A consumer that lost messages has a critical finding already.
    near = (least < facts.threshold(t.RETENTION_HEADROOM_RATIO)) & ~(month.lost > 0)
    yield from findings_of(
        "CON-HEADROOM-LOW", facts, now, near, weight=1 - least, advice=longer, least=least,
        lag=month.lag,
    )  # fmt: skip


def _abandoned(facts: Facts) -> Iterator[Finding]:
    now = facts.consumers.now
    lying = now.at_end(c.CONSUMER_EXHAUSTED_MESSAGES)
    exhausted = now.increase(c.CONSUMER_EXHAUSTED)
    peak = now.highest(c.CONSUMER_EXHAUSTED_MESSAGES)
    number = np.where(lying > 0, lying, np.where(exhausted > 0, exhausted, np.nan_to_num(peak)))
    yield from findings_of(
        "CON-MESSAGES-ABANDONED", facts, now, consumers.with_abandoned_messages(facts),
        severity=np.where(lying > 0, Severity.WARNING, Severity.NOTE), weight=number,
        number=number, lying=lying, exhausted=exhausted,
        max_deliver=now.last(c.CONSUMER_MAX_DELIVER),
        captured=now.last(c.CONSUMER_DEAD_LETTER_CAPTURED),
    )  # fmt: skip


def _redelivery(
    facts: Facts, month: consumers.ConsumerMonth, sizes: consumers.Sizing
) -> Iterator[Finding]:
    often = month.redelivery > facts.threshold(t.REDELIVERY_RATIO)
    causes = consumers.main_cause(month.causes)
    yield from findings_of(
        "CON-REDELIVERY-HIGH", facts, facts.consumers.now,
        often & (month.deliveries >= facts.threshold(t.DELIVERIES_LEAST)),
        weight=month.redelivery, ratio=month.redelivery, before=month.redelivery_before,
        cause=causes, wasted=sizes.wasted, deliveries=month.deliveries,
        ack_wait=lambda index: _wait(sizes, index) if causes[index] == "acked too late" else None,
    )  # fmt: skip


def _not_well(
    facts: Facts, month: consumers.ConsumerMonth, at_end: consumers.CurrentState
) -> Iterator[Finding]:
    """For a large part of the month, or at its end; losses have a finding of their own."""
    conditions: dict[int, list[Evidence]] = {}
    for each in month.conditions:
        held = Evidence(each.condition, known(each.share), Kind.SHARE)
        conditions.setdefault(each.consumer, []).append(held)
    now_bad = at_end.needs_work & ~(month.lost > 0)
    yield from findings_of(
        "CON-NOT-WELL", facts, facts.consumers.now, (month.not_well >= _NOT_WELL_SHARE) | now_bad,
        weight=np.nan_to_num(month.not_well), share=month.not_well,
        state=consumers.worst_state(month.verdicts), now=at_end.text,
        before=consumers.not_well(month.verdicts_before),
        more=lambda index: conditions.get(index, [])[:_CONDITIONS],
    )  # fmt: skip


def _ack_pending(facts: Facts, sizes: consumers.Sizing) -> Iterator[Finding]:
    now, peak, limit = facts.consumers.now, sizes.peak, sizes.limit
    finite = np.isfinite(limit) & np.array([name[-1] != _EPHEMERAL for name in now.names], bool)
    high = finite & (limit >= facts.threshold(t.ACK_PENDING_WINDOW_LEAST))
    high &= peak >= facts.threshold(t.ACK_PENDING_RATIO) * limit
    loose = finite & ~high & (limit > consumers.LOOSE_LEAST) & (peak > 0)
    loose &= limit > consumers.LOOSE_FACTOR * peak
    yield from findings_of(
        "SIZE-ACK-PENDING-HIGH", facts, now, high, weight=peak / limit, peak=peak, limit=limit,
        max_pending=lambda index: math.ceil(2 * limit[index]),
    )  # fmt: skip
    yield from findings_of(
        "SIZE-ACK-PENDING-LOOSE", facts, now, loose, peak=peak, limit=limit,
        weight=lambda index: float(limit[index] / peak[index]),
        max_pending=lambda index: max(math.ceil(2 * peak[index]), 100),
    )  # fmt: skip


def _took(slow: float) -> str:
    return "longer than the largest bucket" if math.isinf(slow) else fmt.span(slow)


def _wait(sizes: consumers.Sizing, index: int) -> str | None:
    """Twice the slow acknowledgements; None without ack_wait."""
    slow, wait = float(sizes.slow_ack[index]), float(sizes.ack_wait[index])
    if math.isnan(wait):
        return None
    wanted = max(2 * slow, wait) if math.isfinite(slow) else 2 * wait
    return f"{math.ceil(wanted)}s"


def publishing_findings(facts: Facts, rejections: Sequence[events.Rejections]) -> Iterator[Finding]:
    now = facts.streams.now
    yield from _unstored(facts)
    yield from _rejected(facts, rejections)
    memory = events.dedupe_memory(facts, now)
    yield from findings_of(
        "PUB-DEDUPE-MEMORY", facts, now, memory > facts.threshold(t.DEDUPE_MEMORY), weight=memory,
        memory=memory, ids=now.highest(c.STREAM_DEDUPE_WINDOW_MESSAGES),
        window=now.last(c.STREAM_DUPLICATE_WINDOW_SECONDS),
    )  # fmt: skip
    limit, used = consumers.reserved_unused(facts)
    fills = {each.asset for each in facts.forecasts if each.fills and each.limit_name == "bytes"}
    growing = np.array([name in fills for name in now.names], bool)
    unused, peak = limit * (1 - used), limit * used
    yield from findings_of(
        "SIZE-RESERVED-UNUSED", facts, now,
        (used < consumers.UNUSED_RATIO) & (unused >= _GIB) & ~growing,
        weight=limit - peak, limit=limit, peak=peak,
        max_bytes=lambda index: max(math.ceil(2 * peak[index] / _GIB), 1) * _GIB,
    )  # fmt: skip


def _unstored(facts: Facts) -> Iterator[Finding]:
    """Duplicates counted by the publish-ack tap are harmless and no finding."""
    now = facts.streams.now
    ratio, unstored = events.unstored_ratio(now), now.increase(c.STREAM_PUBLISHES_UNSTORED)
    hits, received = (
        now.increase(c.STREAM_DEDUPE_HITS),
        now.increase(c.STREAM_PUBLISHES_RECEIVED),
    )
    exact = now.lowest(c.STREAM_DEDUPE_EXACT) >= 1
    unexplained = np.where(exact, np.maximum(unstored - np.nan_to_num(hits), 0.0), unstored)
    line = facts.threshold(t.PUBLISH_UNSTORED_RATIO)
    yield from findings_of(
        "PUB-NOT-STORED", facts, now, (ratio > line) & (unexplained > line * received),
        severity=np.where(exact, Severity.WARNING, Severity.NOTE), weight=ratio, ratio=ratio,
        unstored=unstored, received=received, hits=hits, exact=exact,
        counted=np.where(exact, "exact", "at most"),
    )  # fmt: skip


def _rejected(facts: Facts, rejections: Sequence[events.Rejections]) -> Iterator[Finding]:
    now, line = facts.streams.now, facts.threshold(t.PUBLISH_CONFLICT_RATIO)
    stored = now.increase(c.STREAM_STORED_MESSAGES)
    for each in rejections:
        index = now.position(each.name)
        whole = each.number + (math.nan if index is None else float(stored[index]))
        share = each.number / whole if whole > 0 else math.nan
        minor = each.code in _CONFLICTS and not share > line
        yield make_finding(
            "PUB-REJECTED", Subject(*each.name), facts.as_of, weight=each.number,
            severity=Severity.NOTE if minor else Severity.WARNING, number=each.number,
            share=known(share), error_code=each.code,
            meaning=events.CODES.get(each.code, "unknown code"),
        )  # fmt: skip


def server_findings(facts: Facts) -> Iterator[Finding]:
    now, before = facts.servers.now, facts.servers.before
    found = partial(findings_of, facts=facts, assets=now)
    up, errors = polls.response_ratio(facts), polls.api_error_ratio(facts)
    last_days = now.day(c.SERVER_UP, last=True)
    yield from found(
        "SRV-NOT-RESPONDING", mask=up < _UP_RATIO, weight=1 - up, up=up,
        severity=np.where(up < 0.99, Severity.WARNING, Severity.NOTE),
        gone=[day if day is not None and day < facts.as_of else None for day in last_days],
    )  # fmt: skip
    yield from found(
        "SRV-API-ERRORS", mask=errors > facts.threshold(t.API_ERROR_RATIO), weight=errors,
        ratio=errors, errors=now.increase(c.SERVER_API_ERRORS),
    )  # fmt: skip
    cut = now.increase(c.SERVER_SLOW_CONSUMERS)
    yield from found(
        "SRV-CLIENTS-CUT", mask=cut > 0, weight=cut, cut=cut,
        before=before.increase(c.SERVER_SLOW_CONSUMERS),
    )  # fmt: skip
    offset = polls.certain_offset(facts)
    yield from found(
        "CLK-OFFSET", mask=offset > facts.threshold(t.CLOCK_OFFSET), weight=offset, offset=offset,
        lowest=now.lowest(c.SERVER_CLOCK_OFFSET_SECONDS),
        highest=now.highest(c.SERVER_CLOCK_OFFSET_SECONDS),
    )  # fmt: skip


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


def data_findings(facts: Facts, gaps: Sequence[polls.RequestGap]) -> Iterator[Finding]:
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
    lacking, apart = polls.partial_days(facts), polls.missing_data(facts)
    if not facts.missing and not lacking and not apart:
        return
    grave = facts.missing or any(each.missing for each in apart)
    yield make_finding(
        "DATA-DAYS-MISSING", Subject(), facts.as_of, weight=len(facts.missing),
        severity=Severity.WARNING if grave else Severity.NOTE, missing=len(facts.missing),
        lacking=len(lacking), hours=polls.covered_hours(facts), days=facts.missing, partial=lacking,
        apart=[(each.system, sorted((*each.missing, *each.partial))) for each in apart],
    )  # fmt: skip
