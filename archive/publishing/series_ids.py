"""Maps series ids of the log to those of the archive."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from archive.batch import SeriesDefinition
from archive.tables.sample_columns import Int32s
from archive.tables.series import SeriesRegistry

_UNSEEN = -1
_LOST = -2


class SeriesDefinitions(Protocol):
    def definition(self, series: int) -> SeriesDefinition: ...


class SeriesIdMap:
    """Adds new series on demand."""

    def __init__(self, known: SeriesDefinitions, registry: SeriesRegistry) -> None:
        self._known, self._registry = known, registry
        self._numbers = np.full(0, _UNSEEN, np.int32)
        self._replicas = np.zeros(0, np.int32)
        self.replica_names = [""]

    def translate(self, series: NDArray[np.uint32]) -> tuple[Int32s, Int32s]:
        """Archive id and replica of each; the id is negative when the definition is lost."""
        if len(series) == 0:
            return np.empty(0, np.int32), np.empty(0, np.int32)
        self._grow(int(series.max()) + 1)
        numbers = self._numbers[series]
        unseen = numbers == _UNSEEN
        if unseen.any():
            for each in np.unique(series[unseen]).tolist():
                self._learn(each)
            numbers = self._numbers[series]
        return numbers, self._replicas[series]

    def _learn(self, series: int) -> None:
        try:
            definition = self._known.definition(series)
        except KeyError:
            self._numbers[series] = _LOST
            return
        self._numbers[series] = self._registry.number(definition.labels)
        if definition.replica not in self.replica_names:
            self.replica_names.append(definition.replica)
        self._replicas[series] = self.replica_names.index(definition.replica)

    def _grow(self, size: int) -> None:
        if size > len(self._numbers):
            more = max(size, 2 * len(self._numbers)) - len(self._numbers)
            self._numbers = np.concatenate((self._numbers, np.full(more, _UNSEEN, np.int32)))
            self._replicas = np.concatenate((self._replicas, np.zeros(more, np.int32)))
