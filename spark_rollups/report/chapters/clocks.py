"""The chapter on clocks: how far off each server's was, and how surely that is known."""

from __future__ import annotations

import numpy as np

from alerts import thresholds as t
from exporter import catalog as c
from spark_rollups.report import formatting as fmt
from spark_rollups.report.cell_values import (
    Kind,
)
from spark_rollups.report.facts.assets import Statistic
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.servers import certain_offset
from spark_rollups.report.figure_data import Name, Offset, Offsets
from spark_rollups.report.model import Chapter, Column, Table, sorted_rows
from spark_rollups.report.table_rows import by_column, identity, rows_of

_SHOWN = 12


def clocks_chapter(facts: Facts) -> Chapter:
    now = facts.servers.now
    offsets = _offsets(facts)
    if not now.has(c.SERVER_CLOCK_OFFSET_SECONDS):
        unknown = "No clock was measured in this month: all offsets are unknown."
        return Chapter("clocks", "Clocks", (unknown,))
    line = facts.threshold(t.CLOCK_OFFSET)
    beyond = int((certain_offset(facts) > line).sum())
    said = (
        f"{fmt.plural(beyond, 'server was', 'servers were')} off by more than {fmt.span(line)} for "
        "certain." if beyond else f"No server was off by more than {fmt.span(line)} for certain.",
        "What depends on a server's clock: max_age, message TTL, the duplicate window and the times in a "
        "stream. What does not: the order of messages, and whether a message is a duplicate.",
    )  # fmt: skip
    return Chapter("clocks", "Clocks", said, (_table(facts),), (offsets,) if offsets.rows else ())


def _table(facts: Facts) -> Table:
    now, before = facts.servers.now, facts.servers.before
    offset = c.SERVER_CLOCK_OFFSET_SECONDS
    columns = (
        certain_offset(facts), now.column(offset, Statistic.MIN), now.column(offset, Statistic.MAX), now.mean(offset),
        now.column(c.SERVER_CLOCK_UNCERTAINTY_SECONDS, Statistic.MAX), before.column(offset, Statistic.MIN),
        before.column(offset, Statistic.MAX),
    )  # fmt: skip
    rows = rows_of(now, ~np.isnan(now.column(offset, Statistic.MAX)), columns)
    return Table(
        "clocks",
        "Offsets from the exporter's clock",
        identity(now.labels),
        (
            Column("certain_seconds", "Off for certain", Kind.SECONDS,
                   "the worst offset less the uncertainty", line=facts.threshold(t.CLOCK_OFFSET)),
            Column("offset_low", "Lowest", Kind.SECONDS, "below 0 the server is behind"),
            Column("offset_high", "Highest", Kind.SECONDS),
            Column("offset_mean", "Mean", Kind.SECONDS),
            Column("uncertainty", "Uncertainty", Kind.SECONDS, "the largest of the month"),
            Column("offset_low_before", "Lowest before", Kind.SECONDS, shown=False),
            Column("offset_high_before", "Highest before", Kind.SECONDS, shown=False),
        ),
        sorted_rows(rows, by_column(len(now.labels))),
        note="All off by the same amount: then it is the exporter's clock.",
    )  # fmt: skip


def _offsets(facts: Facts) -> Offsets:
    now = facts.servers.now
    low, high = (
        now.column(c.SERVER_CLOCK_OFFSET_SECONDS, number)
        for number in (Statistic.MIN, Statistic.MAX)
    )
    unsure = np.nan_to_num(now.column(c.SERVER_CLOCK_UNCERTAINTY_SECONDS, Statistic.MAX))
    order = np.argsort(-certain_offset(facts), kind="stable")
    rows = [
        Offset(Name(now.names[index][-1], facts.path(now.names[index][:-1])), float(low[index]), float(high[index]),
               float(unsure[index]))
        for index in order[:_SHOWN].tolist()
        if not np.isnan(low[index])
    ]  # fmt: skip
    return Offsets(
        "Where the clocks were",
        "From the lowest to the highest offset of the month; pale is the uncertainty, the dashed lines are "
        "those of the alert.",
        facts.threshold(t.CLOCK_OFFSET),
        tuple(rows),
    )
