"""The chapter on right-sizing: settings against what the month really needed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from alerts import thresholds as t
from exporter import catalog as c
from spark_rollups.report.cell_values import Kind
from spark_rollups.report.facts.assets import Assets, Of
from spark_rollups.report.facts.monthly_facts import Facts
from spark_rollups.report.facts.source import Floats, folded
from spark_rollups.report.model import Chapter, Column, Table, sorted_rows
from spark_rollups.report.table_rows import by_column, divided, identity, limit_of, rows_of

SLOW = 0.99  # which acknowledgements count as the slow ones
UNUSED_RATIO = 0.2  # a reservation of which less was ever used is too large
LOOSE_FACTOR = 10  # a limit so many times above the month's peak protects from nothing
LOOSE_LEAST = 1000  # small limits may be loose: they do no harm
_BUCKET = c.CONSUMER_ACK_SECONDS.name + "_bucket"


@dataclass(frozen=True, slots=True)
class Sizing:
    """By place of the consumers."""

    peak: Floats  # most unacknowledged
    limit: Floats  # max_ack_pending; infinity when there is none
    used: Floats  # the peak as a share of the limit
    slow_ack: Floats  # seconds; infinity: beyond the largest bucket
    ack_wait: Floats
    ack_share: Floats
    wasted: Floats  # deliveries that were repeated


def sizing_of(facts: Facts) -> Sizing:
    now = facts.consumers.now
    peak = now.of(c.CONSUMER_NUM_ACK_PENDING, Of.HIGH)
    limit = limit_of(now.of(c.CONSUMER_MAX_ACK_PENDING, Of.LAST), peak)
    slow, wait = slow_acks(facts, now), now.of(c.CONSUMER_ACK_WAIT_SECONDS, Of.LAST)
    return Sizing(
        peak=peak,
        limit=limit,
        used=divided(peak, np.where(np.isinf(limit), np.nan, limit)),
        slow_ack=slow,
        ack_wait=wait,
        ack_share=divided(slow, wait),
        wasted=now.of(c.CONSUMER_REDELIVERIES, Of.INCREASE),
    )


def slow_acks(facts: Facts, assets: Assets) -> Floats:
    """The 99th percentile of the time to ack, by the month's samples; NaN without any."""
    result = np.full(len(assets), np.nan)
    table = folded(facts.source, [_BUCKET], assets.labels, facts.days, ("le",))
    if not table.num_rows:
        return result
    places = assets.places(table)
    bounds = np.array([_bound(text) for text in table["le"].to_pylist()])
    counts = np.nan_to_num(table["increase"].to_numpy(zero_copy_only=False).astype(float))
    for place in np.unique(places[places >= 0]).tolist():
        rows = places == place
        order = np.argsort(bounds[rows])
        result[place] = quantile(bounds[rows][order], counts[rows][order], SLOW)
    return result


def _bound(text: str) -> float:
    return math.inf if text in ("+Inf", "Inf") else float(text)


def quantile(bounds: Floats, counts: Floats, share: float) -> float:
    """As histogram_quantile has it, of cumulative counts by ascending bound.

    Infinity when it lies beyond the largest finite bound: then it is only known to be larger.
    """
    if not len(bounds) or not math.isinf(bounds[-1]) or counts[-1] <= 0:
        return math.nan
    rank = share * counts[-1]
    place = int(np.searchsorted(counts, rank))
    if math.isinf(bounds[place]):
        return math.inf
    low, below = (bounds[place - 1], counts[place - 1]) if place else (0.0, 0.0)
    inside = counts[place] - below
    return float(low + (bounds[place] - low) * ((rank - below) / inside if inside else 1.0))


def reserved_unused(facts: Facts) -> tuple[Floats, Floats]:
    """Of each stream its limit in bytes and the share of it that was ever used in the month."""
    now = facts.streams.now
    limit = now.limit(c.STREAM_MAX_BYTES, c.STREAM_BYTES)
    return limit, divided(now.of(c.STREAM_BYTES, Of.HIGH), limit)


def sizing_chapter(facts: Facts, sizing: Sizing) -> Chapter:
    said = [
        "A limit that is never near its peak protects from nothing; one that is always reached slows work "
        "down.",
    ]
    if not (~np.isnan(sizing.slow_ack)).any():
        said.append(
            "How long acknowledgements take is unknown: no consumer has sample_freq set, or nobody listens."
        )
    return Chapter(
        "right-sizing",
        "Right-sizing",
        tuple(said),
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
        divided(sizing.wasted, now.of(c.CONSUMER_DELIVERIES, Of.INCREASE)),
    )  # fmt: skip
    rows = rows_of(now, known, columns)
    return Table(
        "sizing_consumers",
        "Consumers: unacknowledged messages, time to ack, wasted deliveries",
        identity(now.labels),
        (
            Column("ack_pending_peak", "Peak unacked", Kind.COUNT, "highest num_ack_pending"),
            Column("ack_pending_mean", "Mean", Kind.COUNT, shown=False),
            Column("max_ack_pending", "Limit", Kind.COUNT, "max_ack_pending"),
            Column("ack_pending_used", "Used", Kind.SHARE, "peak of the limit",
                   line=facts.value(t.ACK_PENDING_RATIO)),
            Column("ack_seconds_p99", "Slow acks", Kind.SECONDS, "99 of 100 were faster"),
            Column("ack_wait_seconds", "Ack wait", Kind.SECONDS),
            Column("ack_wait_used", "Used", Kind.SHARE, "slow acks of ack_wait",
                   line=facts.value(t.ACK_WAIT_RATIO)),
            Column("wasted", "Repeated", Kind.COUNT, "deliveries that were not the first"),
            Column("wasted_ratio", "Share", Kind.SHARE, line=facts.value(t.REDELIVERY_RATIO)),
        ),
        sorted_rows(rows, by_column(len(now.labels) + 3)),
        note="The tightest first.",
        empty="No consumer was seen in this month.",
    )  # fmt: skip


def _stream_table(facts: Facts) -> Table:
    now = facts.streams.now
    limit, used = reserved_unused(facts)
    rows = rows_of(
        now,
        ~np.isnan(used),
        (now.of(c.STREAM_BYTES, Of.HIGH), limit, used, np.maximum(limit * (1 - used), 0.0)),
    )
    return Table(
        "sizing_streams",
        "Streams: what their limits reserve",
        identity(now.labels),
        (
            Column("bytes_peak", "Peak size", Kind.BYTES),
            Column("max_bytes", "Limit", Kind.BYTES, "max_bytes: reserved, used or not"),
            Column(
                "used", "Used", Kind.SHARE, "peak of the limit", line=UNUSED_RATIO, falling=True
            ),
            Column("unused_bytes", "Never used", Kind.BYTES, "one copy"),
        ),
        sorted_rows(rows, by_column(len(now.labels) + 3)),
        note="What was never used comes first.",
        empty="No stream has a limit in bytes.",
    )
