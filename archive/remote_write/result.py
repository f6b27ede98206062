"""The result of decoding a request: accepted data, refusals and their reasons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from archive.batch import Batch
from archive.remote_write.messages import Exemplar, Metadata, Sample
from archive.remote_write.native_histogram import Histogram
from archive.series.labels import Label

REFUSED: Final = -1
"""In a column of series ids: the series of this row is refused."""
_MAX_REASONS: Final = 3


@dataclass(slots=True)
class SeriesMessage:
    """One series of a request, read field by field; labels as received."""

    labels: list[Label] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    histograms: list[Histogram] = field(default_factory=list)
    exemplars: list[Exemplar] = field(default_factory=list)
    metadata: Metadata | None = None
    fault: str = ""  # why the whole series is refused
    refused: list[str] = field(default_factory=list)  # why single samples or messages are refused

    @property
    def parts(self) -> int:
        return len(self.samples) + len(self.histograms) + len(self.exemplars)


@dataclass(slots=True)
class Refusals:
    """Counts by reason, with the first series of each."""

    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)

    def add(self, reason: str, count: int, example: Callable[[], str]) -> None:
        if reason not in self.counts:
            self.examples[reason] = example()
        self.counts[reason] = self.counts.get(reason, 0) + count

    def __bool__(self) -> bool:
        return bool(self.counts)

    def __str__(self) -> str:
        """One line for the sender's log, which may truncate it."""
        reasons = [
            f"{count} x {reason} (first: {self.examples[reason]})"
            for reason, count in list(self.counts.items())[:_MAX_REASONS]
        ]
        more = len(self.counts) - len(reasons)
        return "refused " + ", ".join(reasons) + (f", and {more} more reasons" if more else "")


@dataclass(frozen=True, slots=True)
class Written:
    samples: int = 0
    histograms: int = 0
    exemplars: int = 0


@dataclass(frozen=True, slots=True)
class Decoded:
    """A request, ready for the write-ahead log. Empty when nothing of it can be stored."""

    batch: Batch
    written: Written
    refusals: Refusals
    newest: int
    """The time of the newest sample, if there is one."""

    @property
    def empty(self) -> bool:
        return not len(self.batch.series) and not self.batch.opaque


@dataclass(slots=True)
class Rows:
    """Samples in parallel columns."""

    series: NDArray[np.int64]
    times: NDArray[np.int64]
    bits: NDArray[np.uint64]
    starts: NDArray[np.int64] | None = None

    def put(self, places: slice | Sequence[int], others: Rows) -> None:
        """Overwrites rows with others that have no start timestamps."""
        self.series[places], self.times[places] = others.series, others.times
        self.bits[places] = others.bits


def rows_of(single: Sequence[tuple[int, Sample]]) -> Rows:
    return Rows(
        np.array([series for series, _ in single], np.int64),
        np.array([sample.time for _, sample in single], np.int64),
        np.array([sample.bits for _, sample in single], np.uint64),
        np.array([sample.start for _, sample in single], np.int64),
    )


def concatenated(parts: Sequence[Rows]) -> Rows:
    if not parts:
        return Rows(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint64))
    starts = None
    if any(part.starts is not None for part in parts):
        starts = np.concatenate(
            [np.zeros(len(p.series), np.int64) if p.starts is None else p.starts for p in parts]
        )
    return Rows(
        np.concatenate([part.series for part in parts]),
        np.concatenate([part.times for part in parts]),
        np.concatenate([part.bits for part in parts]),
        starts,
    )
