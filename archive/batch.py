"""The data of one accepted request, as the receiver, the write-ahead log and the publisher share it."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

NO_SERIES = -1
"""The series of an opaque message of a metric family, such as 1.0 metadata."""


class OpaqueKind(IntEnum):
    """The kind of an opaque message. The numbers are part of the log format and never change."""

    HISTOGRAM = 1
    EXEMPLAR = 2
    METADATA = 3


@dataclass(frozen=True, slots=True)
class SeriesDefinition:
    """One series of one replica; two replicas of a series are two definitions."""

    id: int
    """0, 1, 2, ... in the order of first arrival; fixed for the life of the data folder."""
    labels: tuple[tuple[str, str], ...]
    """Sorted and unique, with ``__name__``, without the replica label."""
    replica: str
    """The value of the replica label; empty without one."""


@dataclass(frozen=True, slots=True)
class Opaque:
    """A message that the archive stores and returns as bytes."""

    kind: OpaqueKind
    series: int
    """The id of its series, or NO_SERIES."""
    time: int
    """In milliseconds; 0 without one."""
    data: bytes
    """The protobuf message as received; of a 2.0 request with resolved symbols."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The samples of one accepted request, in columns."""

    sender: str
    received: int
    """In milliseconds, by the archive's clock."""
    series: NDArray[np.uint32]
    times: NDArray[np.int64]
    """In milliseconds."""
    values: NDArray[np.uint64]
    """The bits of the float64, so that stale markers and NaN payloads are preserved."""
    starts: NDArray[np.int64] | None
    """Start timestamps of a 2.0 request in milliseconds; None without them."""
    opaque: tuple[Opaque, ...] = ()
