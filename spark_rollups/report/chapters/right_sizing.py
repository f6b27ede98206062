"""The chapter on right-sizing: limits against the usage of the month."""

from __future__ import annotations

import math

import numpy as np

from alerts import thresholds as t
from exporter import catalog as c
from spark_rollups.report.cell_values import (
    Kind,
)
from spark_rollups.report.facts.arithmetic import divided
from spark_rollups.report.facts.assets import Statistic
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.sizing import (
    UNUSED_RATIO,
    Sizing,
    reserved_unused,
)
from spark_rollups.report.model import Chapter, Column, Table, sorted_rows
from spark_rollups.report.table_rows import by_column, identity, rows_of


def sizing_chapter(facts: Facts, sizing: Sizing) -> Chapter:
    sentences = [
        "A limit far above the peak protects from nothing; a limit that is always reached slows work down.",
    ]
    if not (~np.isnan(sizing.slow_ack)).any():
        sentences.append(
            "The time to acknowledge is unknown: no consumer has sample_freq set, or ack samples are not received."
        )
    return Chapter(
        "right-sizing",
        "Right-sizing",
        tuple(sentences),
        (_consumer_table(facts, sizing), _stream_table(facts)),
    )


def _consumer_table(facts: Facts, sizing: Sizing) -> Table:
    now = facts.consumers.now
    known = now.seen & ~(np.isnan(sizing.peak) & np.isnan(sizing.slow_ack))
    usual = now.mean(c.CONSUMER_NUM_ACK_PENDING)
    beyond = [
        "beyond the largest bucket" if math.isinf(value) else value
        for value in sizing.slow_ack.tolist()
    ]
    share = np.where(np.isinf(sizing.ack_share), np.nan, sizing.ack_share)
    columns = (
        sizing.peak, usual, sizing.limit, sizing.used, beyond, sizing.ack_wait, share, sizing.wasted,
        divided(sizing.wasted, now.column(c.CONSUMER_DELIVERIES, Statistic.INCREASE)),
    )  # fmt: skip
    rows = rows_of(now, known, columns)
    return Table(
        "sizing_consumers",
        "Consumers: unacknowledged messages, time to ack, redeliveries",
        identity(now.labels),
        (
            Column("ack_pending_peak", "Peak ack pending", Kind.COUNT, "highest num_ack_pending"),
            Column("ack_pending_mean", "Mean", Kind.COUNT, shown=False),
            Column("max_ack_pending", "Limit", Kind.COUNT, "max_ack_pending"),
            Column("ack_pending_used", "Used", Kind.SHARE, "peak as a share of the limit",
                   line=facts.threshold(t.ACK_PENDING_RATIO)),
            Column("ack_seconds_p99", "Slow acks", Kind.SECONDS, "99th percentile"),
            Column("ack_wait_seconds", "Ack wait", Kind.SECONDS),
            Column("ack_wait_used", "Used", Kind.SHARE, "slow acks as a share of ack_wait",
                   line=facts.threshold(t.ACK_WAIT_RATIO)),
            Column("wasted", "Redeliveries", Kind.COUNT),
            Column("wasted_ratio", "Share", Kind.SHARE, line=facts.threshold(t.REDELIVERY_RATIO)),
        ),
        sorted_rows(rows, by_column(len(now.labels) + 3)),
        note="Highest use first.",
        empty="No consumer was seen in this month.",
    )  # fmt: skip


def _stream_table(facts: Facts) -> Table:
    now = facts.streams.now
    limit, used = reserved_unused(facts)
    rows = rows_of(
        now,
        ~np.isnan(used),
        (
            now.column(c.STREAM_BYTES, Statistic.MAX),
            limit,
            used,
            np.maximum(limit * (1 - used), 0.0),
        ),
    )
    return Table(
        "sizing_streams",
        "Streams: reserved storage",
        identity(now.labels),
        (
            Column("bytes_peak", "Peak size", Kind.BYTES),
            Column("max_bytes", "Limit", Kind.BYTES, "max_bytes, reserved on the server"),
            Column(
                "used",
                "Used",
                Kind.SHARE,
                "peak as a share of the limit",
                line=UNUSED_RATIO,
                falling=True,
            ),
            Column("unused_bytes", "Never used", Kind.BYTES, "of one replica"),
        ),
        sorted_rows(rows, by_column(len(now.labels) + 3)),
        note="Largest share first.",
        empty="No stream has max_bytes.",
    )
