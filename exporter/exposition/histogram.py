"""The value of a histogram metric: observations counted in buckets."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class Histogram:
    bounds: tuple[float, ...]  # upper bounds, rising, without +Inf
    counts: tuple[int, ...]  # per bucket, not cumulative
    sum: float

    def __post_init__(self) -> None:
        if len(self.counts) != len(self.bounds) + 1:
            raise ValueError(f"{len(self.bounds)} bounds need one count more, not {self.counts}")
        if list(self.bounds) != sorted(set(self.bounds)):
            raise ValueError(f"bounds do not rise: {self.bounds}")

    def cumulative(self) -> tuple[int, ...]:
        """Observations up to each bound; the last number is the total."""
        return tuple(accumulate(self.counts))


@dataclass(slots=True)
class Tally:
    """Counts observations for a histogram."""

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
