"""predict_linear of Prometheus, for comparison: a least-squares line through a range of points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spark_rollups.forecasting.models.daily_levels import DAY, Points

Floats = NDArray[np.float64]

WINDOWS = (1, 7, 28)


def predict_linear(points: Points, at: float, window_days: int, leads: Floats) -> Floats | None:
    """The line through (at - window, at], evaluated `leads` days after `at`; None below two points."""
    first, last = np.searchsorted(points.times, [at - window_days * DAY, at], side="right")
    if last - first < 2:
        return None
    days = (points.times[first:last] - at) / DAY
    values = points.values[first:last]
    middle, mean = days.sum() / len(days), values.sum() / len(values)
    apart = days - middle
    slope = float(apart @ (values - mean)) / float(apart @ apart)
    return np.asarray(mean + slope * (leads - middle))
