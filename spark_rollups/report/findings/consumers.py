"""Findings about consumers: loss, redelivery, states, abandoned messages and settings that do not fit."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from alerts import thresholds as t
from exporter import catalog as c
from spark_rollups.report import formatting as words
from spark_rollups.report.cell_values import (
    Kind,
)
from spark_rollups.report.facts.arithmetic import known
from spark_rollups.report.facts.assets import Of
from spark_rollups.report.facts.consumers import (
    ConsumerMonth,
    given_up,
    main_cause,
    not_well,
    worst_state,
)
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.sizing import (
    LOOSE_FACTOR,
    LOOSE_LEAST,
    Sizing,
)
from spark_rollups.report.facts.subject import subject_of
from spark_rollups.report.findings import codes
from spark_rollups.report.findings.finding import Definition, Evidence, Finding, Severity, found

NOT_WELL_SHARE = 0.05  # of the month's time: a day and a half
WORSE_FACTOR = 2.0  # a lag is worse when it at least doubled
WORSE_LEAST = 600.0  # and is of a length that anybody would notice
_EPHEMERAL = "_ephemeral"  # the row of many short-lived ones has no settings of its own


def consumer_findings(facts: Facts, month: ConsumerMonth, sizing: Sizing) -> Iterator[Finding]:
    yield from _lost(facts, month)
    yield from _headroom(facts)
    yield from _abandoned(facts)
    yield from _redelivery(facts, month, sizing)
    yield from _not_well(facts, month)
    yield from _worse(facts, month)
    yield from _ephemerals(facts)
    yield from _ack_pending(facts, sizing)
    yield from _ack_wait(facts, sizing)


def _made(
    facts: Facts, definition: Definition, severity: Severity, place: int, says: str,
    evidence: list[Evidence], weight: float, **values: object,
) -> Finding:  # fmt: skip
    return found(
        definition, severity, subject_of(facts.consumers.now, place), says, evidence, facts.as_of,
        weight=weight, values=values,
    )  # fmt: skip


def _called(facts: Facts, place: int, what: str = "Consumer") -> str:
    """As a sentence names it."""
    _, _, stream, consumer = facts.consumers.now.names[place]
    return f"{what} {consumer} of {stream}"


def _lost(facts: Facts, month: ConsumerMonth) -> Iterator[Finding]:
    exact = facts.consumers.now.of(c.CONSUMER_LOST_EXACT, Of.LOW)
    for place in np.flatnonzero(month.lost > 0).tolist():
        lost = float(month.lost[place])
        bound = "" if exact[place] >= 1 else "at least "
        were = words.plural(round(lost), "message was", "messages were")
        says = words.capital(
            f"{bound}{were} removed by limits before {_called(facts, place, 'consumer')} got them."
        )
        evidence = [
            Evidence("lost", lost, Kind.COUNT),
            Evidence("lost the month before", known(month.lost_before[place]), Kind.COUNT),
            Evidence("worst lag", known(month.lag[place]), Kind.SECONDS),
        ]
        yield _made(facts, codes.MESSAGES_LOST, Severity.CRITICAL, place, says, evidence, lost)


def _headroom(facts: Facts) -> Iterator[Finding]:
    now = facts.consumers.now
    ratio = now.of(c.CONSUMER_RETENTION_HEADROOM_RATIO, Of.LOW)
    seconds = now.of(c.CONSUMER_RETENTION_HEADROOM_SECONDS, Of.LOW)
    lag = now.of(c.CONSUMER_LAG_SECONDS, Of.HIGH)
    with np.errstate(invalid="ignore", divide="ignore"):
        by_age = seconds / (seconds + lag)  # max_age is headroom plus lag
    least = np.fmin(ratio, by_age)
    lost = now.of(c.CONSUMER_LOST_MESSAGES, Of.INCREASE)
    line = facts.value(t.RETENTION_HEADROOM_RATIO)
    # Who lost messages has its own, graver finding.
    for place in np.flatnonzero((least < line) & ~(lost > 0)).tolist():
        says = (
            f"{_called(facts, place)} came close to losing messages: at its worst only "
            f"{words.share(max(float(least[place]), 0.0))} of the retention was left."
        )
        evidence = [
            Evidence("least headroom", float(least[place]), Kind.SHARE),
            Evidence("worst lag", known(lag[place]), Kind.SECONDS),
        ]
        yield _made(
            facts,
            codes.HEADROOM_LOW,
            Severity.WARNING,
            place,
            says,
            evidence,
            1 - float(least[place]),
        )


def _abandoned(facts: Facts) -> Iterator[Finding]:
    now = facts.consumers.now
    left = now.at_end(c.CONSUMER_EXHAUSTED_MESSAGES)
    peak = now.of(c.CONSUMER_EXHAUSTED_MESSAGES, Of.HIGH)
    told = now.of(c.CONSUMER_EXHAUSTED, Of.INCREASE)
    listens = now.of(c.CONSUMER_DEAD_LETTER_CAPTURED, Of.LAST)
    for place in np.flatnonzero(given_up(facts)).tolist():
        lying = known(left[place])
        number = lying or known(told[place]) or known(peak[place]) or 0.0
        where = "lay in the stream at the end" if lying else "ran out of max_deliver in the month"
        nobody = " Nobody listens for them." if listens[place] == 0 else ""
        says = f"{_called(facts, place)} gave up on messages: at least {words.count(number)} {where}.{nobody}"
        evidence = [
            Evidence("lying in the stream", lying, Kind.COUNT),
            Evidence("given up in the month", known(told[place]), Kind.COUNT),
            Evidence(
                "max_deliver", known(now.of(c.CONSUMER_MAX_DELIVER, Of.LAST)[place]), Kind.COUNT
            ),
        ]
        severity = Severity.WARNING if lying else Severity.NOTE
        yield _made(facts, codes.MESSAGES_ABANDONED, severity, place, says, evidence, number)


def _redelivery(facts: Facts, month: ConsumerMonth, sizing: Sizing) -> Iterator[Finding]:
    line, least = facts.value(t.REDELIVERY_RATIO), facts.value(t.DELIVERIES_LEAST)
    causes = main_cause(month.causes)
    for place in np.flatnonzero((month.redelivery > line) & (month.deliveries >= least)).tolist():
        ratio = float(month.redelivery[place])
        why = f" Mostly: {causes[place]}." if causes[place] else ""
        says = (
            f"{_called(facts, place)}: {words.share(ratio)} of its deliveries were repeated ones "
            f"({words.count(float(sizing.wasted[place]))} of {words.count(float(month.deliveries[place]))}).{why}"
        )
        evidence = [
            Evidence("repeated", ratio, Kind.SHARE),
            Evidence(
                "repeated the month before", known(month.redelivery_before[place]), Kind.SHARE
            ),
            Evidence("cause", causes[place]),
        ]
        yield _made(
            facts, codes.REDELIVERY_HIGH, Severity.WARNING, place, says, evidence, ratio,
            ack_wait=_wait(sizing, place) if causes[place] == "acked too late" else None,
        )  # fmt: skip


def _not_well(facts: Facts, month: ConsumerMonth) -> Iterator[Finding]:
    states, share = worst_state(month.verdicts), month.not_well
    before = not_well(month.verdicts_before)
    for place in np.flatnonzero(share >= NOT_WELL_SHARE).tolist():
        says = (
            f"{_called(facts, place)} was not well for {words.share(float(share[place]))} of the time, mostly: "
            f"{states[place]}."
        )
        evidence = [
            Evidence("not well", float(share[place]), Kind.SHARE),
            Evidence("the month before", known(before[place]), Kind.SHARE),
            Evidence("mostly", states[place]),
        ]
        yield _made(
            facts, codes.NOT_WELL, Severity.WARNING, place, says, evidence, float(share[place])
        )


def _worse(facts: Facts, month: ConsumerMonth) -> Iterator[Finding]:
    doubled = month.lag >= WORSE_FACTOR * month.lag_before
    for place in np.flatnonzero(doubled & (month.lag >= WORSE_LEAST)).tolist():
        now, before = float(month.lag[place]), float(month.lag_before[place])
        day = month.lag_day[place]
        on = f" on {words.day(day)}" if day else ""
        says = (
            f"{_called(facts, place)}: its worst lag was {words.span(now)}{on}, after {words.span(before)} the "
            "month before."
        )
        evidence = [
            Evidence("worst lag", now, Kind.SECONDS),
            Evidence("the month before", before, Kind.SECONDS),
            Evidence("on", day, Kind.DAY),
        ]
        yield _made(facts, codes.LAG_WORSE, Severity.WARNING, place, says, evidence, now)


def _ephemerals(facts: Facts) -> Iterator[Finding]:
    now = facts.streams.now
    first, last = (now.of(c.STREAM_EPHEMERAL_CONSUMERS, number) for number in (Of.FIRST, Of.LAST))
    for place in np.flatnonzero(last - first > facts.value(t.EPHEMERAL_GROWTH)).tolist():
        says = (
            f"Stream {now.names[place][-1]} had {words.count(float(last[place]))} ephemeral consumers at the end, "
            f"{words.count(float(last[place] - first[place]))} more than at the beginning of the month."
        )
        evidence = [
            Evidence("at the beginning", float(first[place]), Kind.COUNT),
            Evidence("at the end", float(last[place]), Kind.COUNT),
        ]
        yield found(
            codes.EPHEMERALS_GROW, Severity.WARNING, subject_of(now, place), says, evidence, facts.as_of,
            weight=float(last[place] - first[place]),
        )  # fmt: skip


def _ack_pending(facts: Facts, sizing: Sizing) -> Iterator[Finding]:
    now = facts.consumers.now
    line, least = facts.value(t.ACK_PENDING_RATIO), facts.value(t.ACK_PENDING_WINDOW_LEAST)
    for place in range(len(now)):
        peak, limit = float(sizing.peak[place]), float(sizing.limit[place])
        if math.isnan(peak) or math.isinf(limit) or now.names[place][-1] == _EPHEMERAL:
            continue
        evidence = [Evidence("peak", peak, Kind.COUNT), Evidence("limit", limit, Kind.COUNT)]
        if limit >= least and peak >= line * limit:
            says = (
                f"{_called(facts, place)} had up to {words.count(peak)} unacknowledged messages of "
                f"{words.count(limit)} allowed."
            )
            yield _made(
                facts, codes.ACK_PENDING_HIGH, Severity.NOTE, place, says, evidence, peak / limit,
                max_pending=math.ceil(2 * limit),
            )  # fmt: skip
        elif limit > LOOSE_LEAST and limit > LOOSE_FACTOR * peak > 0:
            says = (
                f"{_called(facts, place)} may hold {words.count(limit)} unacknowledged messages and never had "
                f"more than {words.count(peak)}."
            )
            yield _made(
                facts, codes.ACK_PENDING_LOOSE, Severity.NOTE, place, says, evidence, limit / peak,
                max_pending=max(math.ceil(2 * peak), 100),
            )  # fmt: skip


def _ack_wait(facts: Facts, sizing: Sizing) -> Iterator[Finding]:
    for place in np.flatnonzero(sizing.ack_share > facts.value(t.ACK_WAIT_RATIO)).tolist():
        slow, wait = float(sizing.slow_ack[place]), float(sizing.ack_wait[place])
        took = "longer than the largest bucket" if math.isinf(slow) else words.span(slow)
        says = (
            f"{_called(facts, place)}: one acknowledgement in a hundred took {took} or more, of an ack_wait of "
            f"{words.span(wait)}."
        )
        evidence = [
            Evidence("slow acks", took),
            Evidence("ack_wait", wait, Kind.SECONDS),
        ]
        yield _made(
            facts, codes.ACK_WAIT_SHORT, Severity.WARNING, place, says, evidence,
            min(float(sizing.ack_share[place]), 100.0), ack_wait=_wait(sizing, place),
        )  # fmt: skip


def _wait(sizing: Sizing, place: int) -> str | None:
    """Twice the slow acknowledgements; unknown where they are."""
    slow, wait = float(sizing.slow_ack[place]), float(sizing.ack_wait[place])
    if math.isnan(wait):
        return None
    wanted = 2 * wait if math.isnan(slow) or math.isinf(slow) else max(2 * slow, wait)
    return f"{math.ceil(wanted)}s"
