"""What one accepted request is, between the receiver, the write-ahead log and the publisher.

Plain data and nothing else: no part of the archive depends on how another one works.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

NO_SERIES = -1
"""The series of an opaque message that names a metric family, as 1.0 metadata does."""


class OpaqueKind(IntEnum):
    """What an opaque message is; the numbers stand in the log and never change."""

    HISTOGRAM = 1
    EXEMPLAR = 2
    METADATA = 3


@dataclass(frozen=True, slots=True)
class SeriesDefinition:
    """One series as one sender's replica writes it; two replicas of it are two definitions."""

    id: int
    """0, 1, 2, ... in the order of first sight, for ever the same in one data folder."""
    labels: tuple[tuple[str, str], ...]
    """The identity: sorted, unique, with ``__name__``, without the replica label."""
    replica: str
    """The value of the replica label, empty when there is none."""


@dataclass(frozen=True, slots=True)
class Opaque:
    """A message that is kept as bytes and given back as bytes."""

    kind: OpaqueKind
    series: int
    """The series that it belongs to, or NO_SERIES."""
    time: int
    """In milliseconds, 0 where it has none."""
    data: bytes
    """The protobuf message as received; of a 2.0 request, with its symbols resolved."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The samples of one accepted request, column by column."""

    sender: str
    received: int
    """In milliseconds, by our clock."""
    series: NDArray[np.uint32]
    times: NDArray[np.int64]
    """In milliseconds."""
    values: NDArray[np.uint64]
    """The bits of the float64, so that stale markers and the payloads of NaN survive."""
    starts: NDArray[np.int64] | None
    """The start timestamps of a 2.0 request, in milliseconds; None when it has none."""
    opaque: tuple[Opaque, ...] = ()
