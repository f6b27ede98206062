"""What a source of samples gives and a target takes: some series with their samples."""

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
    """Something that is kept as bytes; without labels it speaks of a family."""

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
        """Returns when the batch is safe."""

    async def finish(self) -> None: ...


def canonical(labels: dict[str, str], without: str = "") -> Labels:
    """An empty value is no label, in Prometheus too."""
    return tuple(sorted((key, value) for key, value in labels.items() if value and key != without))


def bits(values: list[float]) -> Bits:
    """A NaN out of a text gets the bits that Prometheus gives it."""
    numbers = np.array(values, np.float64)
    found: Bits = numbers.view(np.uint64)
    found[np.isnan(numbers)] = NORMAL_NAN
    return found
