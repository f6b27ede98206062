"""Maps series ids of the log to those of the archive."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from archive.batch import SeriesDefinition
from archive.tables.id_column import NONE, IdColumn
from archive.tables.sample_columns import Int32s
from archive.tables.series import SeriesRegistry

_LOST: Final = -2
_REPLICA_SHIFT: Final = 32  # above the archive's id


class SeriesDefinitions(Protocol):
    def definition(self, series: int) -> SeriesDefinition: ...


class SeriesIdMap:
    """Adds new series on demand. Keeps the ids of this publication and of the one before."""

    def __init__(self, known: SeriesDefinitions, registry: SeriesRegistry) -> None:
        self._known, self._registry = known, registry
        self._current, self._previous = IdColumn(), IdColumn()
        self.replica_names = [""]

    def translate(self, series: NDArray[np.uint32]) -> tuple[Int32s, Int32s]:
        """Archive id and replica of each; the id is negative when the definition is lost."""
        found = self._current[series]
        unseen = np.unique(series[found == NONE])
        if len(unseen):
            numbers = self._previous[unseen]
            numbers[numbers == NONE] = self._learned(unseen[numbers == NONE].tolist())
            self._current[unseen] = numbers
            found = self._current[series]
        return found.astype(np.int32), (found >> _REPLICA_SHIFT).astype(np.int32)

    def settle(self) -> None:
        """Call it after a publication: forgets the ids that only the one before had."""
        self._previous, self._current = self._current, IdColumn()

    def _learned(self, series: Sequence[int]) -> list[int]:
        found: dict[int, SeriesDefinition] = {}
        for each in series:
            with contextlib.suppress(KeyError):  # the definition is lost
                found[each] = self._known.definition(each)
        numbers = self._registry.numbers([each.labels for each in found.values()])
        ids = dict(zip(found, numbers, strict=True))
        return [self._replica(found[each]) | ids[each] if each in ids else _LOST for each in series]

    def _replica(self, definition: SeriesDefinition) -> int:
        if definition.replica not in self.replica_names:
            self.replica_names.append(definition.replica)
        return self.replica_names.index(definition.replica) << _REPLICA_SHIFT
