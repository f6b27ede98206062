"""The chapter on publishing: received, stored, duplicate and rejected publishes."""

from __future__ import annotations

import numpy as np

from alerts import thresholds as t
from exporter import catalog as c
from spark_rollups.report import formatting as fmt
from spark_rollups.report.cell_values import (
    Kind,
)
from spark_rollups.report.facts.arithmetic import total
from spark_rollups.report.facts.assets import STREAM, Floats, Statistic, increase_by
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.publishing import CODES, Rejections, dedupe_memory, unstored_ratio
from spark_rollups.report.model import Chapter, Column, Row, Table, sorted_rows
from spark_rollups.report.table_rows import by_column, identity, rows_of


def publishing_chapter(facts: Facts, rejections: list[Rejections]) -> Chapter:
    return Chapter(
        "publishing",
        "Publishing",
        tuple(_sentences(facts, rejections)),
        (_table(facts), _rejection_table(facts, rejections)),
    )


def _sentences(facts: Facts, rejections: list[Rejections]) -> list[str]:
    now = facts.streams.now
    stored = total(now.column(c.STREAM_STORED_MESSAGES, Statistic.INCREASE))
    unstored = total(now.column(c.STREAM_PUBLISHES_UNSTORED, Statistic.INCREASE))
    sentences = []
    if stored is not None:
        sentences.append(f"{fmt.count(stored)} messages were stored.")
    if unstored is None:
        sentences.append(
            "The number of publishes that were not stored is unknown: it needs the system or monitor source "
            "and publish accounting."
        )
    else:
        sentences.append(f"{fmt.count(unstored)} publishes reached a stream and were not stored.")
    if not rejections and not facts.others["rejections"].now.has(c.STREAM_PUBLISH_REJECTIONS):
        sentences.append(
            "Rejections are unknown, or there were none: only the publish-ack tap counts them."
        )
    return sentences


def _table(facts: Facts) -> Table:
    now, before = facts.streams.now, facts.streams.before
    exact = now.column(c.STREAM_DEDUPE_EXACT, Statistic.MIN)
    columns = (
        now.column(c.STREAM_PUBLISHES_RECEIVED, Statistic.INCREASE),
        now.column(c.STREAM_STORED_MESSAGES, Statistic.INCREASE),
        now.column(c.STREAM_PUBLISHES_UNSTORED, Statistic.INCREASE), unstored_ratio(now), unstored_ratio(before),
        now.column(c.STREAM_DEDUPE_HITS, Statistic.INCREASE), before.column(c.STREAM_DEDUPE_HITS, Statistic.INCREASE),
        [None if np.isnan(value) else "exact" if value >= 1 else "at most" for value in exact],
        _rejected(facts),
        now.column(c.STREAM_DUPLICATE_WINDOW_SECONDS, Statistic.LAST), now.column(c.STREAM_DEDUPE_WINDOW_MESSAGES, Statistic.MAX),
        dedupe_memory(facts, now),
    )  # fmt: skip
    rows = rows_of(now, now.seen, columns)
    return Table(
        "publishing",
        "Publishes by stream",
        identity(now.labels),
        _columns(facts),
        sorted_rows(rows, by_column(len(now.labels) + 2)),
        note="Only the publish-ack tap counts duplicates exactly; without it the number is an upper bound.",
    )


def _rejected(facts: Facts) -> Floats:
    return increase_by(
        facts.others["rejections"].now, c.STREAM_PUBLISH_REJECTIONS, facts.streams.now
    )


def _columns(facts: Facts) -> tuple[Column, ...]:
    return (
        Column("received", "Received", Kind.COUNT, "publishes that reached the stream"),
        Column("stored", "Stored", Kind.COUNT),
        Column("unstored", "Not stored", Kind.COUNT),
        Column("unstored_ratio", "Share", Kind.SHARE, "not stored, as a share of received"),
        Column("unstored_ratio_before", "Month before", Kind.SHARE, "share in the month before"),
        Column("duplicates", "Duplicates", Kind.COUNT),
        Column("duplicates_before", "Duplicates before", Kind.COUNT, shown=False),
        Column("duplicates_counted", "Counted", hint="exact, or an upper bound"),
        Column("rejections", "Rejected", Kind.COUNT, line=1),
        Column("duplicate_window_seconds", "Window", Kind.SECONDS, shown=False),
        Column("ids_peak", "Message ids", Kind.COUNT, "peak in the duplicate window, an estimate",
               shown=False),
        Column("ids_memory", "Id memory", Kind.BYTES, "per replica, an estimate",
               line=facts.threshold(t.DEDUPE_MEMORY)),
    )  # fmt: skip


def _rejection_table(facts: Facts, rejections: list[Rejections]) -> Table:
    rows = [
        Row((*each.name, each.code, CODES.get(each.code, ""), each.number)) for each in rejections
    ]
    return Table(
        "rejections",
        "Rejections by code",
        identity(STREAM),
        (
            Column("code", "Code"),
            Column("meaning", "Meaning"),
            Column("number", "Rejected", Kind.COUNT),
        ),
        rows,
        empty="None was counted. Without the publish-ack tap rejections are unknown.",
    )
