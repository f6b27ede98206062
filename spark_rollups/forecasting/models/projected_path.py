"""The projection of one model: the level of each day ahead, and the highest so far."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Growth of an error with the lead: between a random walk (0.5) and a wrong slope (1).
GROWTH = 0.8


@dataclass(frozen=True, slots=True)
class Curve:
    """Predictions by day ahead, and the factors by which their errors grow."""

    values: Floats
    spread: Floats
    relative: bool = False  # errors are logarithms of shares

    def errors(self, actual: Floats) -> Floats:
        """Divided by the spread."""
        if not self.relative:
            return np.asarray((actual - self.values) / self.spread)
        return np.asarray(np.log(np.maximum(actual / self.values, 1e-3)) / self.spread)

    def moved(self, error: float) -> Floats:
        """The values that have this error on each day."""
        if self.relative:
            return np.asarray(self.values * np.exp(error * self.spread))
        return np.asarray(self.values + error * self.spread)


@dataclass(frozen=True, slots=True)
class Path:
    levels: Curve  # at the end of each day; never below 0
    peaks: Curve  # the highest level so far: it meets a limit on the day that it is reached
    # Bounds of the levels: a purge cycle stays between its lowest and highest.
    floor: float = 0.0
    ceiling: float = np.inf

    @classmethod
    def from_levels(cls, levels: Floats, intraday_rise: float, relative: bool = False) -> Path:
        """A path that may go anywhere; its daily peaks lie `intraday_rise` above the close."""
        levels, spread = np.maximum(levels, 0.0), growth_of_error(len(levels))
        peaks = np.maximum.accumulate(levels) + intraday_rise
        return cls(Curve(levels, spread, relative), Curve(peaks, spread, relative))


@lru_cache(maxsize=128)
def growth_of_error(days: int, power: float = GROWTH) -> Floats:
    """The factors of the leads 1, 2, ..."""
    return np.asarray(np.arange(1.0, days + 1) ** power)
