"""The samples of a day by identity: of several series one counts in each hour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from archive.tables.chunk_statistics import Floats, Int64s, without_nan
from spark_rollups.rollup.chunks import Chunks, TimedSamples, ranges, starts_of


@dataclass(frozen=True, slots=True)
class DaySamples:
    """The samples of each identity, concatenated in the order of identities."""

    identity: Any
    counts: Int64s
    values: Floats
    times: Int64s  # empty if not needed


def day_samples(
    identity: Any, place: Any, chunks: Chunks, timed: TimedSamples | None = None
) -> DaySamples:
    """`identity` and `place` of each chunk; `timed` adds times and stale markers."""
    _, numbers = without_nan(chunks.values, chunks.counts)
    counts, values, times = chunks.counts, chunks.values, np.empty(0, np.int64)
    if timed is not None:
        counts = np.bincount(timed.chunk, minlength=len(chunks)).astype(np.int64)
        values, times = timed.value, timed.time
    chosen = row_per_hour(identity, chunks.hour, numbers, place)
    at = ranges(starts_of(counts)[chosen], counts[chosen])
    values, times = values[at], times[at] if len(times) else times
    identity, counts = identity[chosen], counts[chosen]
    firsts = np.flatnonzero(np.append(True, identity[1:] != identity[:-1]))
    return DaySamples(identity[firsts], np.add.reduceat(counts, firsts), values, times)


def row_per_hour(identity: Any, hour: Int64s, count: Int64s, place: Any) -> Int64s:
    """The indexes of the selected rows, sorted by identity and hour; `place` breaks ties."""
    order: Int64s = np.lexsort((place, -count, hour, identity))
    owner, when = identity[order], hour[order]
    first = np.append(True, (owner[1:] != owner[:-1]) | (when[1:] != when[:-1]))
    chosen: Int64s = order[first[: len(order)]]
    return chosen
