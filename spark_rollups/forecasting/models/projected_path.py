"""The projection of one model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Path:
    """The close and the peak of each day ahead; never below 0."""

    levels: Floats
    tops: Floats
    # Bounds of the interval: a purge cycle stays between its lowest and highest level.
    floor: float = 0.0
    ceiling: float = np.inf

    @classmethod
    def from_levels(cls, levels: Floats, intraday_rise: float) -> Path:
        """A path whose daily peaks lie `intraday_rise` above the close."""
        levels = np.maximum(levels, 0.0)
        return cls(levels, levels + intraday_rise)
