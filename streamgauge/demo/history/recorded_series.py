"""The series of the invented past: a metric of the catalogue, its labels, a value at each moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from exporter.metric import Kind, Metric
from streamgauge.demo.history.time_grid import Floats, Grid

# What Prometheus adds to everything that it scrapes.
_SCRAPED: Final = {"job": "streamgauge", "instance": "127.0.0.1:7778"}
_DIGITS: Final = 3


class HistoryError(Exception):
    """The history cannot be written; one line that says why."""


@dataclass(frozen=True, slots=True)
class Recorded:
    name: str
    labels: tuple[tuple[str, str], ...]  # sorted, with the name, without empty values
    values: Floats  # NaN where the series is absent


@dataclass(slots=True)
class Recording:
    """Takes down what the exporter would have said at each moment of the grid."""

    grid: Grid
    series: list[Recorded] = field(default_factory=list)

    def add(
        self, metric: Metric, labels: Sequence[str], values: ArrayLike, digits: int = 0
    ) -> None:
        """One series; `digits` after the point are kept, for what is not a whole number."""
        if metric.kind is Kind.HISTOGRAM:
            raise HistoryError(f"{metric.name}: is a histogram")
        named = dict(zip(metric.labels, labels, strict=True))
        self._take(metric.name, named, np.broadcast_to(values, len(self.grid)), digits)

    def add_histogram(
        self, metric: Metric, labels: Sequence[str], bounds: Sequence[float], counts: Floats,
        total: Floats,
    ) -> None:  # fmt: skip
        """`counts` has a row for each bound and one more, each of them cumulative in time."""
        named = dict(zip(metric.labels, labels, strict=True))
        words = [*(repr(float(bound)) for bound in bounds), "+Inf"]
        below = np.cumsum(counts, axis=0)
        for word, row in zip(words, below, strict=True):
            self._take(f"{metric.name}_bucket", {**named, "le": word}, row, 0)
        self._take(f"{metric.name}_sum", named, total, _DIGITS)
        self._take(f"{metric.name}_count", named, below[-1], 0)

    def _take(self, name: str, labels: dict[str, str], values: Floats, digits: int) -> None:
        told = {"__name__": name, **_SCRAPED, **labels}
        sorted_labels = tuple(sorted((key, value) for key, value in told.items() if value))
        numbers = np.asarray(values, np.float64)
        seen = np.where(self.grid.visible, np.round(numbers, digits), np.nan)
        if not np.isnan(seen).all():
            self.series.append(Recorded(name, sorted_labels, seen))

    def names(self) -> Iterator[str]:
        return (each.name for each in self.series)


def only(where: ArrayLike, values: ArrayLike) -> Floats:
    """The values where something holds, absent elsewhere."""
    return np.where(where, values, np.nan)
