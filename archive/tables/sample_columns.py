"""Samples as parallel columns, and helpers for runs of equal keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Int32s: TypeAlias = NDArray[np.int32]
Int64s: TypeAlias = NDArray[np.int64]
Bits: TypeAlias = NDArray[np.uint64]
Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

NO_START = 0
_NEAR = 1_000_000


@dataclass(frozen=True, slots=True)
class Samples:
    """One entry per sample; `series` are ids of the archive, not of the log."""

    series: Int32s
    replica: Int32s  # index into the list of replica names, 0 is ""
    times: Int64s
    bits: Bits
    starts: Int64s | None = None  # NO_START where a sample has none

    def __len__(self) -> int:
        return len(self.series)

    def take(self, where: Int64s | Mask | slice) -> Samples:
        return Samples(
            self.series[where],
            self.replica[where],
            self.times[where],
            self.bits[where],
            None if self.starts is None else self.starts[where],
        )


def empty_samples() -> Samples:
    return Samples(
        np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.uint64)
    )


def joined(parts: Sequence[Samples]) -> Samples:
    """Concatenates in the given order, which is the order of acknowledgement."""
    parts = [part for part in parts if len(part)]
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return empty_samples()
    return Samples(
        np.concatenate([part.series for part in parts]),
        np.concatenate([part.replica for part in parts]),
        np.concatenate([part.times for part in parts]),
        np.concatenate([part.bits for part in parts]),
        _joined_starts(parts),
    )


def _joined_starts(parts: Sequence[Samples]) -> Int64s | None:
    if all(part.starts is None for part in parts):
        return None
    return np.concatenate(
        [np.full(len(p), NO_START, np.int64) if p.starts is None else p.starts for p in parts]
    )


def run_starts(*keys: NDArray[np.generic]) -> Int64s:
    """The first positions of runs of equal keys."""
    size = len(keys[0])
    if size == 0:
        return np.empty(0, np.int64)
    fresh = np.zeros(size, np.bool_)
    fresh[0] = True
    for key in keys:
        fresh[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(fresh)


def run_lengths(starts: Int64s, size: int) -> Int64s:
    return np.diff(np.append(starts, size))


def distinct(numbers: Int64s | Int32s) -> tuple[list[int], list[int]]:
    """Distinct numbers in order, and their counts; fast for a small range of numbers."""
    if len(numbers) == 0:
        return [], []
    low, high = int(numbers.min()), int(numbers.max())
    if high - low > _NEAR:
        found, counts = np.unique(numbers, return_counts=True)
        return found.tolist(), counts.tolist()
    every = np.bincount(numbers - low)
    present = np.flatnonzero(every)
    return (present + low).tolist(), every[present].tolist()
