"""The series of the history: a metric of the catalogue, its labels, a value per timestamp."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from exporter.metric import Kind, Metric
from streamgauge.demo.history.time_grid import Floats, Grid

# The labels that Prometheus adds.
_SCRAPED: Final = {"job": "streamgauge", "instance": "127.0.0.1:7778"}
_DIGITS: Final = 3


class HistoryError(Exception):
    """The history cannot be written; one line with the reason."""


@dataclass(frozen=True, slots=True)
class Recorded:
    name: str
    labels: tuple[tuple[str, str], ...]  # sorted, with the name, without empty values
    values: Floats  # NaN where the series is absent


@dataclass(slots=True)
class Recording:
    """What the exporter would have exposed at each timestamp of the grid."""

    grid: Grid
    series: list[Recorded] = field(default_factory=list)

    def add(
        self, metric: Metric, labels: Sequence[str], values: ArrayLike, digits: int = 0
    ) -> None:
        """One series, rounded to `digits` decimal places."""
        if metric.kind is Kind.HISTOGRAM:
            raise HistoryError(f"{metric.name}: is a histogram")
        named = dict(zip(metric.labels, labels, strict=True))
        self._append(metric.name, named, np.broadcast_to(values, len(self.grid)), digits)

    def add_histogram(
        self, metric: Metric, labels: Sequence[str], bounds: Sequence[float], counts: Floats,
        total: Floats,
    ) -> None:  # fmt: skip
        """`counts` has a row for each bound and one for +Inf, cumulative in time."""
        named = dict(zip(metric.labels, labels, strict=True))
        bucket_labels = [*(repr(float(bound)) for bound in bounds), "+Inf"]
        below = np.cumsum(counts, axis=0)
        for bucket, row in zip(bucket_labels, below, strict=True):
            self._append(f"{metric.name}_bucket", {**named, "le": bucket}, row, 0)
        self._append(f"{metric.name}_sum", named, total, _DIGITS)
        self._append(f"{metric.name}_count", named, below[-1], 0)

    def _append(self, name: str, labels: dict[str, str], values: Floats, digits: int) -> None:
        all_labels = {"__name__": name, **_SCRAPED, **labels}
        sorted_labels = tuple(sorted((key, value) for key, value in all_labels.items() if value))
        numbers = np.asarray(values, np.float64)
        seen = np.where(self.grid.visible, np.round(numbers, digits), np.nan)
        if not np.isnan(seen).all():
            self.series.append(Recorded(name, sorted_labels, seen))

    def names(self) -> Iterator[str]:
        return (each.name for each in self.series)


def only(where: ArrayLike, values: ArrayLike) -> Floats:
    """The values where the mask is true, absent elsewhere."""
    return np.where(where, values, np.nan)
