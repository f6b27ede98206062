"""The median without the checks of numpy's, which cost more than the median of a few weeks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def medians(rows: Floats) -> Floats:
    """Of each column. Expects no NaN and at least one row."""
    ordered, last = np.sort(rows, axis=0), len(rows) - 1
    return np.asarray((ordered[last // 2] + ordered[(last + 1) // 2]) / 2)


def median(values: Floats) -> float:
    return float(medians(values))
