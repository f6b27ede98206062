"""Collects the samples of a day, for quantiles and state durations."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

import numpy as np

from archive.tables.chunk_statistics import Floats, Int64s, without_nan
from spark_rollups.rollup.chunks import Chunks, TimedSamples, ranges, starts_of
from spark_rollups.rollup.deduplication import row_per_hour
from spark_rollups.rollup.identity_index import Identities
from spark_rollups.rollup.rows import Ranks

_NONE: Final = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class _Held:
    rank: Ranks
    order: Ranks  # order of fingerprints, to break ties
    hour: Int64s
    numbers: Int64s  # values other than NaN
    counts: Int64s
    values: Floats
    times: Int64s  # empty if not needed


@dataclass(frozen=True, slots=True)
class DaySamples:
    """The samples of each identity, concatenated in the order of ranks."""

    rank: Ranks
    counts: Int64s
    values: Floats
    times: Int64s  # empty if not needed


class SampleFold:
    """Collects chunks; selects one series per identity and hour at the end."""

    def __init__(self, identities: Identities) -> None:
        self._identities = identities
        self._held: list[_Held] = []

    def add(self, chunks: Chunks, rank: Ranks, timed: TimedSamples | None = None) -> None:
        """`timed` adds times and stale markers."""
        _, numbers = without_nan(chunks.values, chunks.counts)
        counts, values, times = chunks.counts, chunks.values, np.empty(0, np.int64)
        if timed is not None:
            counts = np.bincount(timed.chunk, minlength=len(chunks)).astype(np.int64)
            values, times = timed.value, timed.time
        order = self._identities.order_of[chunks.series]
        self._held.append(_Held(rank, order, chunks.hour, numbers, counts, values, times))

    def finish(self) -> DaySamples:
        if not any(len(held.rank) for held in self._held):
            return DaySamples(np.empty(0, np.int32), _NONE, np.empty(0), _NONE)
        rank, order, hour, numbers, counts, values, times = (
            np.concatenate([getattr(held, each.name) for held in self._held])
            for each in fields(_Held)
        )
        self._held.clear()
        chosen = row_per_hour(rank, hour, numbers, order)
        if not np.array_equal(chosen, np.arange(len(rank))):
            at = ranges(starts_of(counts)[chosen], counts[chosen])
            values, times = values[at], times[at] if len(times) else times
        rank, counts = rank[chosen], counts[chosen]
        firsts = np.flatnonzero(np.append(True, rank[1:] != rank[:-1]))
        return DaySamples(rank[firsts], np.add.reduceat(counts, firsts), values, times)
