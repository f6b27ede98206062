"""Rows of the hourly and daily tables as numpy columns, and the aggregation of hours to days.

`rank` is the rank of the identity; times are milliseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from archive.tables.chunk_statistics import Floats, Int64s, Mask

Ranks = NDArray[np.int32]
Column = NDArray[Any]


@dataclass(frozen=True, slots=True)
class _Rows:
    rank: Ranks

    def __len__(self) -> int:
        return len(self.rank)

    def take(self, chosen: Int64s | Mask) -> Self:
        return type(self)(*(getattr(self, each.name)[chosen] for each in fields(self)))

    @classmethod
    def joined(cls, parts: Iterable[Self]) -> Self:
        held = [part for part in parts if len(part)]
        if len(held) == 1:
            return held[0]
        names = [each.name for each in fields(cls)]
        if not held:
            return cls(np.empty(0, np.int32), *(np.empty(0) for _ in names[1:]))
        return cls(*(np.concatenate([getattr(part, name) for part in held]) for name in names))


@dataclass(frozen=True, slots=True)
class HourRows(_Rows):
    """One row per identity and hour with samples."""

    hour: Int64s
    count: Int64s
    min: Floats
    max: Floats
    sum: Floats
    first: Floats
    last: Floats
    p95: Floats
    increase: Floats  # NaN for gauges
    resets: Int64s


@dataclass(frozen=True, slots=True)
class DayRows(_Rows):
    """Parts of a day or whole days: the columns are the same."""

    first_hour: Int64s
    last_hour: Int64s
    hours: Int64s
    count: Int64s
    min: Floats
    max: Floats
    sum: Floats
    first: Floats
    last: Floats
    increase: Floats
    resets: Int64s


def day_parts(rows: HourRows) -> DayRows:
    """One row per span of consecutive rows of an identity."""
    if len(rows) == 0:
        return DayRows.joined(())
    ones = np.ones(len(rows), np.int64)
    hours = DayRows(
        rows.rank, rows.hour, rows.hour, ones, rows.count, rows.min, rows.max, rows.sum,
        rows.first, rows.last, rows.increase, rows.resets,
    )  # fmt: skip
    begins = (rows.rank[1:] != rows.rank[:-1]) | (rows.hour[1:] < rows.hour[:-1])
    return _added_up(hours, np.flatnonzero(np.append(True, begins)))


def whole_days(parts: Iterable[DayRows]) -> DayRows:
    """One row per identity, sorted. No hour of an identity may be in two parts."""
    rows = DayRows.joined(parts)
    if len(rows) == 0:
        return rows
    rows = rows.take(np.lexsort((rows.first_hour, rows.rank)))
    starts = np.flatnonzero(np.append(True, rows.rank[1:] != rows.rank[:-1]))
    if len(starts) == len(rows):
        return rows
    # Parts may overlap: the last to begin need not be the last to end.
    by_end = np.lexsort((rows.last_hour, rows.rank))
    ends = by_end[np.append(starts[1:], len(rows)) - 1]
    return replace(_added_up(rows, starts), last_hour=rows.last_hour[ends], last=rows.last[ends])


def _added_up(rows: DayRows, starts: Int64s) -> DayRows:
    """Adds up the rows from each start to the next, in order of time."""
    if len(starts) == len(rows):
        return rows
    ends = np.append(starts[1:], len(rows)) - 1
    with np.errstate(invalid="ignore", over="ignore"):
        return DayRows(
            rank=rows.rank[starts],
            first_hour=rows.first_hour[starts],
            last_hour=rows.last_hour[ends],
            hours=np.add.reduceat(rows.hours, starts),
            count=np.add.reduceat(rows.count, starts),
            min=np.minimum.reduceat(rows.min, starts),
            max=np.maximum.reduceat(rows.max, starts),
            sum=np.add.reduceat(rows.sum, starts),
            first=rows.first[starts],
            last=rows.last[ends],
            increase=np.add.reduceat(rows.increase, starts),
            resets=np.add.reduceat(rows.resets, starts),
        )
