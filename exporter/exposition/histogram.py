"""Observations sorted into buckets: the value of a histogram metric. Pure, standard library only."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class Histogram:
    bounds: tuple[
        float, ...
    ]  # the upper ends of the buckets, rising; above the last one is one more
    counts: tuple[int, ...]  # what fell into each bucket, not added up
    sum: float

    def __post_init__(self) -> None:
        if len(self.counts) != len(self.bounds) + 1:
            raise ValueError(f"{len(self.bounds)} bounds need one count more, not {self.counts}")
        if list(self.bounds) != sorted(set(self.bounds)):
            raise ValueError(f"bounds do not rise: {self.bounds}")

    def cumulative(self) -> tuple[int, ...]:
        """How many were at most as large as each bound; the last number is all of them."""
        return tuple(accumulate(self.counts))


@dataclass(slots=True)
class Tally:
    """A histogram in the making."""

    bounds: tuple[float, ...]
    sum: float = 0.0
    _counts: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._counts = [0] * (len(self.bounds) + 1)

    def note(self, value: float) -> None:
        self._counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def histogram(self) -> Histogram:
        return Histogram(self.bounds, tuple(self._counts), self.sum)
