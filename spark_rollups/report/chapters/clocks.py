"""The chapter on clocks: the offset of each server, and its uncertainty."""

from __future__ import annotations

import numpy as np

from alerts import thresholds as t
from exporter import catalog as c
from spark_rollups.report import formatting as fmt
from spark_rollups.report.cell_values import (
    Kind,
)
from spark_rollups.report.charts.figure_data import Name, Offset, Offsets
from spark_rollups.report.facts.assets import Statistic
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.servers import certain_offset
from spark_rollups.report.model import Chapter, Column, Table, sorted_rows
from spark_rollups.report.table_rows import by_column, identity, rows_of

_SHOWN = 12


def clocks_chapter(facts: Facts) -> Chapter:
    now = facts.servers.now
    offsets = _offsets(facts)
    if not now.has(c.SERVER_CLOCK_OFFSET_SECONDS):
        unknown = "No clock offset was measured in this month: all are unknown."
        return Chapter("clocks", "Clocks", (unknown,))
    line = facts.threshold(t.CLOCK_OFFSET)
    beyond = int((certain_offset(facts) > line).sum())
    sentences = (
        f"{fmt.plural(beyond, 'server was', 'servers were')} certainly off by more than "
        f"{fmt.span(line)}." if beyond else f"No server was certainly off by more than {fmt.span(line)}.",
        "max_age, message TTL, the duplicate window and the timestamps in a stream depend on the clock of "
        "a server. The order of messages does not.",
    )  # fmt: skip
    return Chapter(
        "clocks", "Clocks", sentences, (_table(facts),), (offsets,) if offsets.rows else ()
    )


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
            Column("certain_seconds", "Certainly off", Kind.SECONDS,
                   "the largest offset minus the uncertainty", line=facts.threshold(t.CLOCK_OFFSET)),
            Column("offset_low", "Lowest", Kind.SECONDS, "negative: the server is behind"),
            Column("offset_high", "Highest", Kind.SECONDS),
            Column("offset_mean", "Mean", Kind.SECONDS),
            Column("uncertainty", "Uncertainty", Kind.SECONDS, "the largest of the month"),
            Column("offset_low_before", "Lowest before", Kind.SECONDS, shown=False),
            Column("offset_high_before", "Highest before", Kind.SECONDS, shown=False),
        ),
        sorted_rows(rows, by_column(len(now.labels))),
        note="If all are off by the same amount, the clock of the exporter is wrong.",
    )  # fmt: skip


def _offsets(facts: Facts) -> Offsets:
    now = facts.servers.now
    low, high = (
        now.column(c.SERVER_CLOCK_OFFSET_SECONDS, number)
        for number in (Statistic.MIN, Statistic.MAX)
    )
    uncertainty = np.nan_to_num(now.column(c.SERVER_CLOCK_UNCERTAINTY_SECONDS, Statistic.MAX))
    order = np.argsort(-certain_offset(facts), kind="stable")
    rows = [
        Offset(Name(now.names[index][-1], facts.path(now.names[index][:-1])), float(low[index]), float(high[index]),
               float(uncertainty[index]))
        for index in order[:_SHOWN].tolist()
        if not np.isnan(low[index])
    ]  # fmt: skip
    return Offsets(
        "Clock offsets",
        "From the lowest to the highest offset of the month; pale: the uncertainty, dashed: the threshold "
        "of the alert.",
        facts.threshold(t.CLOCK_OFFSET),
        tuple(rows),
    )
