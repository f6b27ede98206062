"""The days ahead as one model draws them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Path:
    """The level at the end of each day ahead and the top within it; never below 0."""

    levels: Floats
    tops: Floats
    # A cycle cannot leave what purges leave to it, whatever its backtest says.
    floor: float = 0.0
    ceiling: float = np.inf

    @classmethod
    def intraday_rise(cls, levels: Floats, intraday_rise: float) -> Path:
        """Of usual days, whose top lies so far above their end."""
        levels = np.maximum(levels, 0.0)
        return cls(levels, levels + intraday_rise)
