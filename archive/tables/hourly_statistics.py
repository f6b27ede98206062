"""The nine statistics of a series and hour. Pure: values in, columns out.

NaN counts nowhere. A counter's increase has Prometheus' meaning: after a drop it began at zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from archive.tables.arrow import Array, Table, pa
from archive.tables.sample_columns import Floats, Int64s, Mask
from archive.tables.schema import HOURLY_SCHEMA, STATISTICS

P95: Final = 0.95
_FLOATS: Final = STATISTICS[1:-1]


@dataclass(frozen=True, slots=True)
class Statistics:
    """One entry per chunk; where `count` is 0 the others mean nothing."""

    count: Int64s
    min: Floats
    max: Floats
    sum: Floats
    first: Floats
    last: Floats
    p95: Floats
    increase: Floats
    resets: Int64s


def statistics(values: Floats, counts: Int64s, before: Floats) -> Statistics:
    """`before` is the value before each chunk's first one, NaN where none is known."""
    numbers, counts = _without_nan(values, counts)
    filled = counts > 0
    starts = _starts_of(counts)[filled]
    ends = starts + counts[filled] - 1
    if len(starts) == 0:
        return _nothing(counts)
    increase, resets = _rise(numbers, starts, before[filled])
    with np.errstate(invalid="ignore", over="ignore"):  # opposite infinities add up to NaN
        found = {
            "min": np.minimum.reduceat(numbers, starts),
            "max": np.maximum.reduceat(numbers, starts),
            "sum": np.add.reduceat(numbers, starts),
            "first": numbers[starts],
            "last": numbers[ends],
            "p95": _quantiles(numbers, starts, counts[filled]),
            "increase": increase,
        }
    spread = {name: _spread(column, filled) for name, column in found.items()}
    return Statistics(counts, resets=_spread(resets, filled).astype(np.int64), **spread)


def hourly_rows(keys: Table, found: Statistics) -> Table:
    """The table of HOURLY_SCHEMA; `keys` has the columns metric, series and hour."""
    empty = found.count == 0
    columns = {name: keys.column(name) for name in ("metric", "series", "hour")}
    columns["count"] = pa.array(found.count.astype(np.int32))
    for name in _FLOATS:
        columns[name] = _column(getattr(found, name), empty)
    columns["resets"] = pa.array(found.resets.astype(np.int32))
    return pa.table(columns, schema=HOURLY_SCHEMA)


def _rise(numbers: Floats, starts: Int64s, before: Floats) -> tuple[Floats, Int64s]:
    """Of each chunk, the step into it included where the value before it is known."""
    previous = np.empty_like(numbers)
    previous[1:] = numbers[:-1]
    known = ~np.isnan(before)
    previous[starts] = np.where(known, before, numbers[starts])
    fell = numbers < previous
    with np.errstate(invalid="ignore", over="ignore"):
        steps = np.where(fell, numbers, numbers - previous)
        increase = np.add.reduceat(steps, starts)
    return increase, np.add.reduceat(fell.astype(np.int64), starts)


def _quantiles(numbers: Floats, starts: Int64s, counts: Int64s) -> Floats:
    """As quantile_over_time(0.95, ...): between the two neighbours of the rank, in proportion.

    Chunks of one length are sorted together, as the rows of a matrix.
    """
    found = np.empty(len(starts))
    for length in np.unique(counts):
        chosen = np.flatnonzero(counts == length)
        matrix = numbers[starts[chosen][:, None] + np.arange(length)]
        rank = P95 * (length - 1)
        lower = int(rank)
        upper = min(lower + 1, int(length) - 1)
        matrix.partition((lower, upper), axis=1)
        found[chosen] = _between(matrix[:, lower], matrix[:, upper], rank - lower)
    return found


def _between(lower: Floats, upper: Floats, weight: float) -> Floats:
    if weight == 0:
        return lower
    mixed = lower * (1 - weight) + upper * weight
    # Equal neighbours are the answer themselves: rounding, or two infinities, must not change it.
    return np.where(lower == upper, lower, mixed)


def _without_nan(values: Floats, counts: Int64s) -> tuple[Floats, Int64s]:
    nan = np.isnan(values)
    if not nan.any():
        return values, counts
    chunk_of = np.repeat(np.arange(len(counts)), counts)
    return values[~nan], counts - np.bincount(chunk_of[nan], minlength=len(counts))


def _starts_of(counts: Int64s) -> Int64s:
    return np.cumsum(counts) - counts


def _spread(column: Floats | Int64s, filled: Mask) -> Floats:
    wide = np.zeros(len(filled))
    wide[filled] = column
    return wide


def _nothing(counts: Int64s) -> Statistics:
    none = np.zeros(len(counts))
    return Statistics(counts, none, none, none, none, none, none, none, counts)


def _column(values: Floats, empty: Mask) -> Array:
    return pa.array(values, mask=empty)
