"""The chapters on consumers: lag, redelivery, loss, time by state, and abandoned messages."""

from __future__ import annotations

import numpy as np

from alerts import thresholds as t
from exporter import catalog as c
from spark_rollups.report import formatting as fmt
from spark_rollups.report.cell_values import (
    Kind,
)
from spark_rollups.report.charts.figure_data import Name, ShareRow, Shares
from spark_rollups.report.facts.assets import Assets, Mask, increase_by, known, limit_of
from spark_rollups.report.facts.consumers import (
    HEALTHY,
    ConsumerMonth,
    main_cause,
    not_well,
    shares_of,
    with_abandoned_messages,
    worst_state,
)
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.model import Chapter, Column, Row, Table, sorted_rows
from spark_rollups.report.table_rows import by_column, identity, rows_of

_SHOWN = 10


def consumers_chapter(facts: Facts, month: ConsumerMonth) -> Chapter:
    figures = [figure] if (figure := _figure(facts, month)).rows else []
    return Chapter(
        "consumers",
        "Consumers",
        tuple(_sentences(facts, month)),
        (_table(facts, month), _verdict_table(facts, month), _condition_table(facts, month)),
        tuple(figures),
    )


def _sentences(facts: Facts, month: ConsumerMonth) -> list[str]:
    there = int(facts.consumers.now.seen.sum())
    bad = int((month.not_well > 0.01).sum())
    sentences = [f"{fmt.plural(there, 'consumer was seen', 'consumers were seen')}."]
    if np.isnan(month.not_well[facts.consumers.now.seen]).all():
        sentences.append("The time in each state is unknown: no verdict was recorded.")
    else:
        sentences.append(
            f"{fmt.plural(bad, 'consumer was', 'consumers were')} not well for more than 1 % of the time."
        )
    losing = int((month.lost > 0).sum())
    if losing:
        sentences.append(
            f"{fmt.plural(losing, 'consumer')} lost messages to retention: at least "
            f"{fmt.count(float(np.nansum(month.lost)))}."
        )
    return sentences


def _table(facts: Facts, month: ConsumerMonth) -> Table:
    now = facts.consumers.now
    columns = (
        month.lag, month.lag_before, month.lag_day, month.lag_usual,
        now.highest(c.CONSUMER_NUM_PENDING), now.last(c.CONSUMER_NUM_PENDING),
        month.redelivery, month.redelivery_before, main_cause(month.causes),
        _exactness(now), month.deliveries, month.lost, month.lost_before,
        month.not_well, worst_state(month.verdicts),
    )  # fmt: skip
    rows = sorted_rows(rows_of(now, now.seen, columns), by_column(len(now.labels)))
    rows = sorted_rows(rows, by_column(len(now.labels) + 11))
    return Table(
        "consumers",
        "All consumers",
        identity(now.labels),
        _columns(facts),
        rows,
        note="Consumers that lost messages come first, then by lag. Lag is the age of the oldest unfinished "
        "message.",
        empty="No consumer was seen in this month.",
    )


def _columns(facts: Facts) -> tuple[Column, ...]:
    before = facts.month.before.title
    return (
        Column("lag_seconds", "Worst lag", Kind.SECONDS),
        Column("lag_seconds_before", "Month before", Kind.SECONDS, f"worst lag of {before}"),
        Column("lag_day", "On", Kind.DAY, "the day of the worst lag"),
        Column("lag_seconds_usual", "Usual lag", Kind.SECONDS, "median over days of the 95th percentile"),
        Column("pending_peak", "Peak pending", Kind.COUNT, "highest num_pending"),
        Column("pending", "Pending", Kind.COUNT, "num_pending at the end", shown=False),
        Column(
            "redelivery_ratio", "Redelivered", Kind.SHARE, "redeliveries as a share of deliveries",
            line=facts.threshold(t.REDELIVERY_RATIO),
        ),
        Column("redelivery_ratio_before", "Month before", Kind.SHARE, f"redelivered in {before}"),
        Column("redelivery_cause", "Cause", shown=False),
        Column("redelivery_exact", "Counted", hint="exact, or a lower bound", shown=False),
        Column("deliveries", "Deliveries", Kind.COUNT, shown=False),
        Column("lost", "Lost", Kind.COUNT, "removed by limits before delivery", line=1),
        Column("lost_before", "Lost before", Kind.COUNT, shown=False),
        Column("not_well", "Not well", Kind.SHARE, "share of the time"),
        Column("worst_state", "Mostly", hint="the longest state that is not well"),
    )  # fmt: skip


def _exactness(assets: Assets) -> list[str | None]:
    """Exact only if it was exact all month."""
    low = assets.lowest(c.CONSUMER_REDELIVERY_EXACT)
    return [None if np.isnan(value) else "exact" if value >= 1 else "at least" for value in low]


def _verdict_table(facts: Facts, month: ConsumerMonth) -> Table:
    now = facts.consumers.now
    shares = shares_of(month.verdicts)
    before = not_well(month.verdicts_before)
    columns = [month.not_well, before, *shares.T]
    rows = rows_of(now, now.seen & ((month.not_well > 0) | (before > 0)), columns)
    held = np.asarray(month.verdicts[now.seen].any(axis=0))
    return Table(
        "verdicts",
        "Share of time by state",
        identity(now.labels),
        (
            Column("not_well", "Not well", Kind.SHARE),
            Column("not_well_before", "Month before", Kind.SHARE),
            *(
                Column(_key(verdict), verdict.capitalize(), Kind.SHARE,
                       shown=bool(held[index]))
                for index, verdict in enumerate(c.VERDICTS)
            ),
        ),
        sorted_rows(rows, by_column(len(now.labels))),
        note="Without consumers that were always ok, idle or paused in both months.",
        empty="All consumers were ok, idle or paused all the time."
        if month.verdicts.any()
        else "No verdict was recorded: the states are unknown.",
    )  # fmt: skip


def _condition_table(facts: Facts, month: ConsumerMonth) -> Table:
    names = facts.consumers.now.names
    return Table(
        "conditions",
        "How long conditions held",
        identity(facts.consumers.now.labels),
        (
            Column("condition", "Condition"),
            Column("seconds", "Held", Kind.SECONDS),
            Column("share", "Share", Kind.SHARE, "of the time in which the consumer was watched"),
        ),
        [
            Row((*names[each.consumer], each.condition, each.seconds, known(each.share)))
            for each in month.conditions
        ],
        note="Several conditions may hold at once; the verdict names the gravest.",
        empty="No condition held, or none was recorded.",
    )


def _figure(facts: Facts, month: ConsumerMonth) -> Shares:
    now = facts.consumers.now
    known = np.flatnonzero(month.verdicts.any(axis=1) & (month.not_well > 0))
    worst = known[np.argsort(-month.not_well[known], kind="stable")][:_SHOWN]
    shares = shares_of(month.verdicts)
    rows = tuple(
        ShareRow(
            Name(now.names[index][-1], facts.path(now.names[index][:-1])),
            tuple(shares[index].tolist()),
        )
        for index in worst.tolist()
    )
    return Shares(
        "Time by state",
        f"The {len(rows)} consumers that were not well for the largest share of the month.",
        tuple(c.VERDICTS),
        tuple(f"verdict-{index}" for index in range(len(c.VERDICTS))),
        tuple(index for index, verdict in enumerate(c.VERDICTS) if verdict in HEALTHY),
        rows,
    )


def _key(verdict: str) -> str:
    return "_".join(verdict.replace("/", "or").replace("-", " ").split())


def abandoned_chapter(facts: Facts) -> Chapter:
    mask = with_abandoned_messages(facts)
    sentences = (_found(facts, mask), *_delivered_once(facts))
    return Chapter("abandoned", "Abandoned messages", sentences, (_abandoned_table(facts, mask),))


def _found(facts: Facts, mask: Mask) -> str:
    now = facts.consumers.now
    if mask.any():
        left = now.at_end(c.CONSUMER_EXHAUSTED_MESSAGES)[mask]
        return (
            f"{fmt.plural(int(mask.sum()), 'consumer')} abandoned messages; at least "
            f"{fmt.count(float(np.nansum(left)))} of them remained in their streams at the end. "
            "The servers do not deliver them again."
        )
    if now.has(c.CONSUMER_MAX_DELIVER) or now.has(c.CONSUMER_EXHAUSTED_MESSAGES):
        return "No message reached max_deliver."
    return "No consumer has a finite max_deliver, so no message can be abandoned."


def _delivered_once(facts: Facts) -> list[str]:
    """The servers do not count abandoned messages of consumers with max_deliver 1."""
    once = int((facts.consumers.now.last(c.CONSUMER_MAX_DELIVER) == 1).sum())
    if not once:
        return []
    return [
        f"{fmt.plural(once, 'consumer delivers', 'consumers deliver')} each message once (max_deliver 1): "
        "a message without an acknowledgement is abandoned, and only advisories report it."
    ]


def _abandoned_table(facts: Facts, mask: Mask) -> Table:
    now, before = facts.consumers.now, facts.consumers.before
    left = now.at_end(c.CONSUMER_EXHAUSTED_MESSAGES)
    captured = now.last(c.CONSUMER_DEAD_LETTER_CAPTURED)
    deliver = now.last(c.CONSUMER_MAX_DELIVER)
    columns = (
        left, before.at_end(c.CONSUMER_EXHAUSTED_MESSAGES),
        now.highest(c.CONSUMER_EXHAUSTED_MESSAGES), now.increase(c.CONSUMER_EXHAUSTED),
        now.increase(c.CONSUMER_NAKS), increase_by(facts.others["terms"].now, c.CONSUMER_TERMS, now),
        limit_of(deliver, now.last(c.CONSUMER_UP)),
        [None if np.isnan(value) else "yes" if value >= 1 else "no" for value in captured],
    )  # fmt: skip
    return Table(
        "abandoned",
        "By consumer",
        identity(now.labels),
        (
            Column("lying", "In the stream", Kind.COUNT, "at the end; a lower bound", line=1),
            Column("lying_before", "Month before", Kind.COUNT),
            Column("lying_peak", "Peak", Kind.COUNT, shown=False),
            Column("exhausted", "Exhausted", Kind.COUNT, "in the month, from advisories"),
            Column("naks", "Naks", Kind.COUNT, "from advisories"),
            Column("terms", "Terms", Kind.COUNT, "from advisories", shown=False),
            Column("max_deliver", "Max deliver", Kind.COUNT),
            Column("dead_letters", "Captured", hint="a stream or subscriber gets the advisory"),
        ),
        sorted_rows(rows_of(now, mask, columns), by_column(len(now.labels))),
        empty="None.",
    )
