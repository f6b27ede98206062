"""Limits of consumers and streams against what the month used."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from exporter import catalog as c
from spark_rollups.report.facts.assets import Assets, Floats, divided, limit_of
from spark_rollups.report.facts.monthly_facts import ACK_BUCKET, Facts

SLOW = 0.99  # the quantile of slow acknowledgements

UNUSED_RATIO = 0.2  # a reservation used less than this is too large

LOOSE_FACTOR = 10  # a limit this many times above the peak protects from nothing

LOOSE_LEAST = 1000  # smaller limits do no harm


@dataclass(frozen=True, slots=True)
class Sizing:
    """Arrays with one entry per consumer."""

    peak: Floats  # most unacknowledged
    limit: Floats  # max_ack_pending; infinity when there is none
    used: Floats  # the peak as a share of the limit
    slow_ack: Floats  # seconds; infinity: beyond the largest bucket
    ack_wait: Floats
    ack_share: Floats
    wasted: Floats  # deliveries that were repeated


def sizing_of(facts: Facts) -> Sizing:
    now = facts.consumers.now
    peak = now.highest(c.CONSUMER_NUM_ACK_PENDING)
    limit = limit_of(now.last(c.CONSUMER_MAX_ACK_PENDING), peak)
    slow, wait = slow_acks(facts, now), now.last(c.CONSUMER_ACK_WAIT_SECONDS)
    return Sizing(
        peak=peak,
        limit=limit,
        used=divided(peak, np.where(np.isinf(limit), np.nan, limit)),
        slow_ack=slow,
        ack_wait=wait,
        ack_share=divided(slow, wait),
        wasted=now.increase(c.CONSUMER_REDELIVERIES),
    )


def slow_acks(facts: Facts, assets: Assets) -> Floats:
    """The 99th percentile of the time to ack; NaN without ack samples."""
    result = np.full(len(assets), np.nan)
    found = facts.others["ack_times"].now
    counts = np.nan_to_num(found.increase(ACK_BUCKET))
    buckets: dict[int, list[tuple[float, float]]] = {}
    for name, count in zip(found.names, counts.tolist(), strict=True):
        index = assets.position(name[:-1])
        if index is not None:
            buckets.setdefault(index, []).append((_bound(name[-1]), count))
    for index, pairs in buckets.items():
        bounds, numbers = np.array(sorted(pairs)).T
        result[index] = quantile(bounds, numbers, SLOW)
    return result


def _bound(text: str) -> float:
    return math.inf if text in ("+Inf", "Inf") else float(text)


def quantile(bounds: Floats, counts: Floats, share: float) -> float:
    """Like histogram_quantile, from cumulative counts by ascending bound.

    Infinity if the quantile lies above the largest finite bound.
    """
    if not len(bounds) or not math.isinf(bounds[-1]) or counts[-1] <= 0:
        return math.nan
    rank = share * counts[-1]
    index = int(np.searchsorted(counts, rank))
    if math.isinf(bounds[index]):
        return math.inf
    low, below = (bounds[index - 1], counts[index - 1]) if index else (0.0, 0.0)
    inside = counts[index] - below
    return float(low + (bounds[index] - low) * ((rank - below) / inside if inside else 1.0))


def reserved_unused(facts: Facts) -> tuple[Floats, Floats]:
    """The limit of each stream in bytes, and the largest share used in the month."""
    now = facts.streams.now
    limit = now.limit(c.STREAM_MAX_BYTES, c.STREAM_BYTES)
    return limit, divided(now.highest(c.STREAM_BYTES), limit)
