"""The data between an import source and its target: series with their samples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from archive.batch import OpaqueKind
from archive.tables.sample_columns import Bits, Int64s
from archive.tables.series import Labels

NORMAL_NAN = 0x7FF8_0000_0000_0001


@dataclass(frozen=True, slots=True)
class ImportedSeries:
    labels: Labels  # sorted, unique, without empty values
    times: Int64s
    bits: Bits


@dataclass(frozen=True, slots=True)
class ImportedMessage:
    """An opaque message; without labels it belongs to a family."""

    kind: OpaqueKind
    labels: Labels | None
    time: int
    data: bytes


@dataclass(slots=True)
class ImportBatch:
    series: list[ImportedSeries] = field(default_factory=list)
    messages: list[ImportedMessage] = field(default_factory=list)

    def __len__(self) -> int:
        return sum(len(each.times) for each in self.series)


class ImportTarget(Protocol):
    async def add(self, batch: ImportBatch) -> None:
        """Returns when the batch is durable."""

    async def finish(self) -> None: ...


def canonical(labels: dict[str, str], without: str = "") -> Labels:
    """Sorted labels without empty values, which Prometheus treats as absent."""
    return tuple(sorted((key, value) for key, value in labels.items() if value and key != without))


def bits(values: list[float]) -> Bits:
    """The bits of the values; a NaN gets the bits that Prometheus uses."""
    numbers = np.array(values, np.float64)
    found: Bits = numbers.view(np.uint64)
    found[np.isnan(numbers)] = NORMAL_NAN
    return found
