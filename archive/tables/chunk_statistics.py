"""The nine statistics of each chunk, and quantiles of groups of values. Imports numpy only.

Chunks of equal length become the rows of a matrix; real chunks have few different lengths.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]
Mask = NDArray[np.bool_]

P95: Final = 0.95
# Values in one block, about a megabyte: a block is read several times and must fit the cache.
_BLOCK: Final = 131_072
_FLOATS: Final = ("min", "max", "sum", "first", "last", "p95", "increase")


@dataclass(frozen=True, slots=True)
class ChunkStatistics:
    """One entry per chunk; NaN where the chunk has no number, or the statistic is not computed."""

    count: Int64s
    min: Floats
    max: Floats
    sum: Floats
    first: Floats
    last: Floats
    p95: Floats
    increase: Floats
    resets: Int64s


def chunk_statistics(
    values: Floats, counts: Int64s, *, rising: Mask | None = None, p95: Mask | None = None
) -> ChunkStatistics:
    """Ignores NaN. `increase` and `resets` cover the steps inside the chunk.

    `rising` and `p95` select the chunks for which these statistics are needed; None selects all.
    For other chunks of the same block they may be computed as well.
    """
    numbers, counts = without_nan(values, counts)
    found = {name: np.full(len(counts), np.nan) for name in _FLOATS}
    resets = np.zeros(len(counts), np.int64)
    for chosen, matrix in matrices(numbers, counts):
        if rising is None or rising[chosen].any():
            found["increase"][chosen], resets[chosen] = _increase(matrix)
        found["first"][chosen], found["last"][chosen] = matrix[:, 0], matrix[:, -1]
        found["sum"][chosen] = _sum(matrix)
        if p95 is None or p95[chosen].any():
            ordered = np.sort(matrix, axis=1)
            found["p95"][chosen] = between_ranks(ordered, P95)
            found["min"][chosen], found["max"][chosen] = ordered[:, 0], ordered[:, -1]
        else:
            found["min"][chosen], found["max"][chosen] = matrix.min(axis=1), matrix.max(axis=1)
    return ChunkStatistics(counts, resets=resets, **found)


def with_previous_values(found: ChunkStatistics, before: Floats) -> ChunkStatistics:
    """Adds the step into each chunk. `before` is the value before its first one, NaN if unknown."""
    steps, fell = rise(np.where(np.isnan(before), found.first, before), found.first)
    with np.errstate(invalid="ignore", over="ignore"):
        return replace(found, increase=found.increase + steps, resets=found.resets + fell)


def quantiles(values: Floats, counts: Int64s, wanted: Sequence[float]) -> list[Floats]:
    """Of each group of values, as quantile_over_time; NaN where a group has no number."""
    numbers, counts = without_nan(values, counts)
    found = [np.full(len(counts), np.nan) for _ in wanted]
    for chosen, matrix in matrices(numbers, counts):
        ordered = np.sort(matrix, axis=1)
        for column, quantile in zip(found, wanted, strict=True):
            column[chosen] = between_ranks(ordered, quantile)
    return found


def matrices(numbers: Floats, counts: Int64s) -> Iterator[tuple[Any, Floats]]:
    """Groups of equal length, and their numbers as the rows of a matrix, block by block.

    Skips empty groups.
    """
    lengths = np.unique(counts)
    if len(lengths) == 1 and lengths[0] > 0:
        matrix = numbers.reshape(len(counts), int(lengths[0]))
        for block in _blocks(len(counts), int(lengths[0])):
            yield block, matrix[block]
        return
    starts = np.cumsum(counts) - counts
    for length in lengths[lengths > 0].tolist():
        same = np.flatnonzero(counts == length)
        for block in _blocks(len(same), length):
            chosen = same[block]
            yield chosen, numbers[starts[chosen][:, None] + np.arange(length)]


def _blocks(rows: int, length: int) -> Iterator[slice]:
    size = max(_BLOCK // length, 1)
    for first in range(0, rows, size):
        yield slice(first, first + size)


def between_ranks(ordered: Floats, quantile: float) -> Floats:
    """Interpolates between the two neighbours of the rank, as Prometheus does."""
    rank = quantile * (ordered.shape[1] - 1)
    lower = int(rank)
    weight = rank - lower
    low, high = ordered[:, lower], ordered[:, min(lower + 1, ordered.shape[1] - 1)]
    if weight == 0:
        return low.copy()
    with np.errstate(invalid="ignore"):
        mixed = low * (1 - weight) + high * weight
    # Equal neighbours are returned as they are: rounding, or two infinities, must not change them.
    return np.where(low == high, low, mixed)


def without_nan(values: Floats, counts: Int64s) -> tuple[Floats, Int64s]:
    nan = np.isnan(values)
    if not nan.any():
        return values, counts
    group_of = np.repeat(np.arange(len(counts)), counts)
    return values[~nan], counts - np.bincount(group_of[nan], minlength=len(counts))


def rise(before: Floats, after: Floats) -> tuple[Floats, Mask]:
    """A counter's steps, and where it was reset: after a drop it started again at zero."""
    fell = after < before
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(fell, after, after - before), fell


def _sum(matrix: Floats) -> Floats:
    """The first value is added last: np.add.reduceat adds in this order, to the same bit."""
    first = matrix[:, 0]
    if matrix.shape[1] == 1:
        return first
    with np.errstate(invalid="ignore", over="ignore"):  # opposite infinities add up to NaN
        return np.asarray(first + matrix[:, 1:].sum(axis=1))


def _increase(matrix: Floats) -> tuple[Floats, Int64s]:
    before, after = matrix[:, :-1], matrix[:, 1:]
    fell = after < before
    with np.errstate(invalid="ignore", over="ignore"):
        steps = np.where(fell, after, after - before) if fell.any() else after - before
        return steps.sum(axis=1), np.count_nonzero(fell, axis=1)
