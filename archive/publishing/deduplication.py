"""One sample per series and time, and one replica per series and hour. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from archive.publishing.replica_selection import one_replica
from archive.tables.sample_columns import Int64s, Mask, Samples
from archive.tables.schema import HOUR_MS

_OFFSET_BITS: Final = np.uint64(22)  # an hour has fewer milliseconds than 2 ** 22


@dataclass(frozen=True, slots=True)
class Deduplicated:
    """Samples of one hour as the archive keeps them, and what was left out on the way."""

    samples: Samples
    repeated: int  # the same sample again, as senders do when they saw no answer
    conflicting: int  # another value for the same time: the last acknowledged one stays
    other_replica: int  # told by the replica that was chosen, too


def deduplicate_hour(samples: Samples, ranks: Int64s) -> Deduplicated:
    """`samples` of one hour in the order of acknowledgement; `ranks` gives each series its place.

    The result is in the order of rank and time. An hour may be large: no copy lives on.
    """
    rank = ranks[samples.series]
    order = _order(samples, rank)
    rank, samples = rank[order], samples.take(order)
    del order
    again = _repeats(samples, rank)
    if not again.any():
        chosen = one_replica(samples, rank)
        return Deduplicated(chosen, 0, 0, len(samples) - len(chosen))
    conflicting = int(np.count_nonzero(samples.bits[:-1][again] != samples.bits[1:][again]))
    keep = np.ones(len(samples), np.bool_)
    keep[:-1] = ~again  # the sort is stable, so of equals the last one was acknowledged last
    rank, samples = rank[keep], samples.take(keep)
    repeated = int(np.count_nonzero(again)) - conflicting
    chosen = one_replica(samples, rank)
    return Deduplicated(chosen, repeated, conflicting, len(samples) - len(chosen))


def _order(samples: Samples, rank: Int64s) -> Int64s:
    if not samples.replica.any():
        # One key that fits 64 bits sorts three times as fast as three keys.
        offset = (samples.times % HOUR_MS).astype(np.uint64)
        return np.argsort((rank.astype(np.uint64) << _OFFSET_BITS) | offset, kind="stable")
    return np.lexsort((samples.times, samples.replica, rank))


def _repeats(samples: Samples, rank: Int64s) -> Mask:
    """Which samples have the same key as the one behind them."""
    same: Mask = (
        (samples.times[1:] == samples.times[:-1])
        & (samples.replica[1:] == samples.replica[:-1])
        & (rank[1:] == rank[:-1])
    )
    return same
