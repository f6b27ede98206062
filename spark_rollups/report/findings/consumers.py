"""Findings about consumers: loss, redelivery, verdicts, abandoned messages and limits."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from alerts import thresholds as t
from exporter import catalog as c
from spark_rollups.report import formatting as fmt
from spark_rollups.report.cell_values import (
    Kind,
)
from spark_rollups.report.facts.assets import Statistic, known, subject_of
from spark_rollups.report.facts.consumers import (
    ConsumerMonth,
    main_cause,
    not_well,
    with_abandoned_messages,
    worst_state,
)
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.sizing import (
    LOOSE_FACTOR,
    LOOSE_LEAST,
    Sizing,
)
from spark_rollups.report.facts.stores import Stores
from spark_rollups.report.findings import codes
from spark_rollups.report.findings.advice import Advice, age_advice
from spark_rollups.report.findings.finding import (
    Definition,
    Evidence,
    Finding,
    Severity,
    make_finding,
)

NOT_WELL_SHARE = 0.05  # of the time: a day and a half per month
WORSE_FACTOR = 2.0  # a lag that at least doubled is worse
WORSE_LEAST = 600.0  # seconds; a shorter lag is no finding
_CONDITIONS = 3  # in the evidence, the longest
_EPHEMERAL = "_ephemeral"  # the aggregated row of ephemeral consumers has no configuration


def consumer_findings(
    facts: Facts, month: ConsumerMonth, sizing: Sizing, stores: Stores
) -> Iterator[Finding]:
    yield from _lost(facts, month, stores)
    yield from _headroom(facts, stores)
    yield from _abandoned(facts)
    yield from _redelivery(facts, month, sizing)
    yield from _not_well(facts, month)
    yield from _worse(facts, month)
    yield from _ephemerals(facts)
    yield from _ack_pending(facts, sizing)
    yield from _ack_wait(facts, sizing)


def _finding(
    facts: Facts, definition: Definition, severity: Severity, index: int, summary: str,
    evidence: list[Evidence], weight: float, advice: Advice | None = None, **values: object,
) -> Finding:  # fmt: skip
    return make_finding(
        definition, severity, subject_of(facts.consumers.now, index), summary, evidence, facts.as_of,
        weight=weight, values=values, advice=advice,
    )  # fmt: skip


def _longer(facts: Facts, stores: Stores, index: int, lag: float) -> Advice | None:
    return age_advice(facts, stores, facts.consumers.now.names[index][:3], lag)


def _called(facts: Facts, index: int, what: str = "Consumer") -> str:
    """The name for a sentence."""
    _, _, stream, consumer = facts.consumers.now.names[index]
    return f"{what} {consumer} of {stream}"


def _lost(facts: Facts, month: ConsumerMonth, stores: Stores) -> Iterator[Finding]:
    exact = facts.consumers.now.column(c.CONSUMER_LOST_EXACT, Statistic.MIN)
    for index in np.flatnonzero(month.lost > 0).tolist():
        lost = float(month.lost[index])
        bound = "" if exact[index] >= 1 else "at least "
        were = fmt.plural(round(lost), "message was", "messages were")
        summary = fmt.capital(
            f"{bound}{were} removed by limits before {_called(facts, index, 'consumer')} got them."
        )
        evidence = [
            Evidence("lost", lost, Kind.COUNT),
            Evidence("lost the month before", known(month.lost_before[index]), Kind.COUNT),
            Evidence("worst lag", known(month.lag[index]), Kind.SECONDS),
        ]
        yield _finding(
            facts, codes.MESSAGES_LOST, Severity.CRITICAL, index, summary, evidence, lost,
            _longer(facts, stores, index, float(month.lag[index])),
        )  # fmt: skip


def _headroom(facts: Facts, stores: Stores) -> Iterator[Finding]:
    now = facts.consumers.now
    ratio = now.column(c.CONSUMER_RETENTION_HEADROOM_RATIO, Statistic.MIN)
    seconds = now.column(c.CONSUMER_RETENTION_HEADROOM_SECONDS, Statistic.MIN)
    lag = now.column(c.CONSUMER_LAG_SECONDS, Statistic.MAX)
    with np.errstate(invalid="ignore", divide="ignore"):
        by_age = seconds / (seconds + lag)  # max_age is headroom plus lag
    least = np.fmin(ratio, by_age)
    lost = now.column(c.CONSUMER_LOST_MESSAGES, Statistic.INCREASE)
    line = facts.threshold(t.RETENTION_HEADROOM_RATIO)
    # A consumer that lost messages has a critical finding already.
    for index in np.flatnonzero((least < line) & ~(lost > 0)).tolist():
        summary = (
            f"{_called(facts, index)} came close to losing messages: at its worst only "
            f"{fmt.share(max(float(least[index]), 0.0))} of the retention was left."
        )
        evidence = [
            Evidence("least headroom", float(least[index]), Kind.SHARE),
            Evidence("worst lag", known(lag[index]), Kind.SECONDS),
        ]
        yield _finding(
            facts,
            codes.HEADROOM_LOW,
            Severity.WARNING,
            index,
            summary,
            evidence,
            1 - float(least[index]),
            _longer(facts, stores, index, float(lag[index])),
        )


def _abandoned(facts: Facts) -> Iterator[Finding]:
    now = facts.consumers.now
    left = now.at_end(c.CONSUMER_EXHAUSTED_MESSAGES)
    peak = now.column(c.CONSUMER_EXHAUSTED_MESSAGES, Statistic.MAX)
    exhausted = now.column(c.CONSUMER_EXHAUSTED, Statistic.INCREASE)
    listens = now.column(c.CONSUMER_DEAD_LETTER_CAPTURED, Statistic.LAST)
    for index in np.flatnonzero(with_abandoned_messages(facts)).tolist():
        lying = known(left[index])
        number = lying or known(exhausted[index]) or known(peak[index]) or 0.0
        where = "were in the stream at the end" if lying else "ran out of max_deliver in the month"
        uncaught = " No dead-letter subscriber captures them." if listens[index] == 0 else ""
        summary = f"{_called(facts, index)} abandoned messages: at least {fmt.count(number)} {where}.{uncaught}"
        evidence = [
            Evidence("in the stream", lying, Kind.COUNT),
            Evidence("exhausted in the month", known(exhausted[index]), Kind.COUNT),
            Evidence(
                "max_deliver",
                known(now.column(c.CONSUMER_MAX_DELIVER, Statistic.LAST)[index]),
                Kind.COUNT,
            ),
        ]
        severity = Severity.WARNING if lying else Severity.NOTE
        yield _finding(facts, codes.MESSAGES_ABANDONED, severity, index, summary, evidence, number)


def _redelivery(facts: Facts, month: ConsumerMonth, sizing: Sizing) -> Iterator[Finding]:
    line, least = facts.threshold(t.REDELIVERY_RATIO), facts.threshold(t.DELIVERIES_LEAST)
    causes = main_cause(month.causes)
    for index in np.flatnonzero((month.redelivery > line) & (month.deliveries >= least)).tolist():
        ratio = float(month.redelivery[index])
        why = f" Mostly: {causes[index]}." if causes[index] else ""
        summary = (
            f"{_called(facts, index)}: {fmt.share(ratio)} of its deliveries were redeliveries "
            f"({fmt.count(float(sizing.wasted[index]))} of {fmt.count(float(month.deliveries[index]))}).{why}"
        )
        evidence = [
            Evidence("redelivered", ratio, Kind.SHARE),
            Evidence(
                "redelivered the month before", known(month.redelivery_before[index]), Kind.SHARE
            ),
            Evidence("cause", causes[index]),
        ]
        yield _finding(
            facts, codes.REDELIVERY_HIGH, Severity.WARNING, index, summary, evidence, ratio,
            ack_wait=_wait(sizing, index) if causes[index] == "acked too late" else None,
        )  # fmt: skip


def _not_well(facts: Facts, month: ConsumerMonth) -> Iterator[Finding]:
    states, share = worst_state(month.verdicts), month.not_well
    before = not_well(month.verdicts_before)
    conditions: dict[int, list[Evidence]] = {}
    for each in month.conditions:
        held = Evidence(each.condition, known(each.share), Kind.SHARE)
        conditions.setdefault(each.consumer, []).append(held)
    for index in np.flatnonzero(share >= NOT_WELL_SHARE).tolist():
        summary = (
            f"{_called(facts, index)} was not well for {fmt.share(float(share[index]))} of the time, mostly: "
            f"{states[index]}."
        )
        evidence = [
            Evidence("not well", float(share[index]), Kind.SHARE),
            Evidence("the month before", known(before[index]), Kind.SHARE),
            Evidence("mostly", states[index]),
            *conditions.get(index, [])[:_CONDITIONS],
        ]
        yield _finding(
            facts, codes.NOT_WELL, Severity.WARNING, index, summary, evidence, float(share[index])
        )


def _worse(facts: Facts, month: ConsumerMonth) -> Iterator[Finding]:
    doubled = month.lag >= WORSE_FACTOR * month.lag_before
    for index in np.flatnonzero(doubled & (month.lag >= WORSE_LEAST)).tolist():
        now, before = float(month.lag[index]), float(month.lag_before[index])
        day = month.lag_day[index]
        on = f" on {fmt.day(day)}" if day else ""
        summary = (
            f"{_called(facts, index)}: its worst lag was {fmt.span(now)}{on}, after {fmt.span(before)} the "
            "month before."
        )
        evidence = [
            Evidence("worst lag", now, Kind.SECONDS),
            Evidence("the month before", before, Kind.SECONDS),
            Evidence("on", day, Kind.DAY),
        ]
        yield _finding(facts, codes.LAG_WORSE, Severity.WARNING, index, summary, evidence, now)


def _ephemerals(facts: Facts) -> Iterator[Finding]:
    now = facts.streams.now
    first, last = (
        now.column(c.STREAM_EPHEMERAL_CONSUMERS, number)
        for number in (Statistic.FIRST, Statistic.LAST)
    )
    for index in np.flatnonzero(last - first > facts.threshold(t.EPHEMERAL_GROWTH)).tolist():
        summary = (
            f"Stream {now.names[index][-1]} had {fmt.count(float(last[index]))} ephemeral consumers at the end, "
            f"{fmt.count(float(last[index] - first[index]))} more than at the beginning of the month."
        )
        evidence = [
            Evidence("at the beginning", float(first[index]), Kind.COUNT),
            Evidence("at the end", float(last[index]), Kind.COUNT),
        ]
        yield make_finding(
            codes.EPHEMERALS_GROW, Severity.WARNING, subject_of(now, index), summary, evidence, facts.as_of,
            weight=float(last[index] - first[index]),
        )  # fmt: skip


def _ack_pending(facts: Facts, sizing: Sizing) -> Iterator[Finding]:
    now = facts.consumers.now
    line, least = facts.threshold(t.ACK_PENDING_RATIO), facts.threshold(t.ACK_PENDING_WINDOW_LEAST)
    for index in range(len(now)):
        peak, limit = float(sizing.peak[index]), float(sizing.limit[index])
        if math.isnan(peak) or math.isinf(limit) or now.names[index][-1] == _EPHEMERAL:
            continue
        evidence = [Evidence("peak", peak, Kind.COUNT), Evidence("limit", limit, Kind.COUNT)]
        if limit >= least and peak >= line * limit:
            summary = (
                f"{_called(facts, index)} had up to {fmt.count(peak)} unacknowledged messages of "
                f"{fmt.count(limit)} allowed."
            )
            yield _finding(
                facts, codes.ACK_PENDING_HIGH, Severity.NOTE, index, summary, evidence, peak / limit,
                max_pending=math.ceil(2 * limit),
            )  # fmt: skip
        elif limit > LOOSE_LEAST and limit > LOOSE_FACTOR * peak > 0:
            summary = (
                f"{_called(facts, index)} may hold {fmt.count(limit)} unacknowledged messages and never had "
                f"more than {fmt.count(peak)}."
            )
            yield _finding(
                facts, codes.ACK_PENDING_LOOSE, Severity.NOTE, index, summary, evidence, limit / peak,
                max_pending=max(math.ceil(2 * peak), 100),
            )  # fmt: skip


def _ack_wait(facts: Facts, sizing: Sizing) -> Iterator[Finding]:
    for index in np.flatnonzero(sizing.ack_share > facts.threshold(t.ACK_WAIT_RATIO)).tolist():
        slow, wait = float(sizing.slow_ack[index]), float(sizing.ack_wait[index])
        took = "longer than the largest bucket" if math.isinf(slow) else fmt.span(slow)
        summary = (
            f"{_called(facts, index)}: one acknowledgement in a hundred took {took} or more, of an ack_wait of "
            f"{fmt.span(wait)}."
        )
        evidence = [
            Evidence("slow acks", took),
            Evidence("ack_wait", wait, Kind.SECONDS),
        ]
        yield _finding(
            facts, codes.ACK_WAIT_SHORT, Severity.WARNING, index, summary, evidence,
            min(float(sizing.ack_share[index]), 100.0), ack_wait=_wait(sizing, index),
        )  # fmt: skip


def _wait(sizing: Sizing, index: int) -> str | None:
    """Twice the slow acknowledgements; None without ack_wait."""
    slow, wait = float(sizing.slow_ack[index]), float(sizing.ack_wait[index])
    if math.isnan(wait):
        return None
    wanted = 2 * wait if math.isnan(slow) or math.isinf(slow) else max(2 * slow, wait)
    return f"{math.ceil(wanted)}s"
