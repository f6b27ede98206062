"""The chapter on abandoned messages: delivered max_deliver times and never acknowledged."""

from __future__ import annotations

import numpy as np

from exporter import catalog as c
from spark_rollups.report import formatting as fmt
from spark_rollups.report.cell_values import (
    Kind,
)
from spark_rollups.report.facts.arithmetic import limit_of
from spark_rollups.report.facts.assets import Mask, Statistic, increase_by
from spark_rollups.report.facts.consumers import (
    with_abandoned_messages,
)
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.model import Chapter, Column, Table, sorted_rows
from spark_rollups.report.table_rows import by_column, identity, rows_of


def abandoned_chapter(facts: Facts) -> Chapter:
    mask = with_abandoned_messages(facts)
    sentences = (_found(facts, mask), *_delivered_once(facts))
    return Chapter("abandoned", "Abandoned messages", sentences, (_table(facts, mask),))


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
    once = int((facts.consumers.now.column(c.CONSUMER_MAX_DELIVER, Statistic.LAST) == 1).sum())
    if not once:
        return []
    return [
        f"{fmt.plural(once, 'consumer delivers', 'consumers deliver')} each message once (max_deliver 1): "
        "a message without an acknowledgement is abandoned, and only advisories report it."
    ]


def _table(facts: Facts, mask: Mask) -> Table:
    now, before = facts.consumers.now, facts.consumers.before
    left = now.at_end(c.CONSUMER_EXHAUSTED_MESSAGES)
    captured = now.column(c.CONSUMER_DEAD_LETTER_CAPTURED, Statistic.LAST)
    deliver = now.column(c.CONSUMER_MAX_DELIVER, Statistic.LAST)
    columns = (
        left, before.at_end(c.CONSUMER_EXHAUSTED_MESSAGES),
        now.column(c.CONSUMER_EXHAUSTED_MESSAGES, Statistic.MAX), now.column(c.CONSUMER_EXHAUSTED, Statistic.INCREASE),
        now.column(c.CONSUMER_NAKS, Statistic.INCREASE), increase_by(facts.others["terms"].now, c.CONSUMER_TERMS, now),
        limit_of(deliver, now.column(c.CONSUMER_UP, Statistic.LAST)),
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
