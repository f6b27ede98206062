"""The series of conditions: present while a condition holds, with the time at which it began."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from exporter.metric import Metric
from streamgauge.demo.history.recorded_series import Recording, only
from streamgauge.demo.history.time_grid import Floats, Grid, Mask


def record_conditions(
    recording: Recording, metric: Metric, who: tuple[str, ...], found: Iterable[tuple[str, Mask]]
) -> None:
    for word, holds in found:
        recording.add(metric, (*who, word), only(holds, _began(recording.grid, holds)))


def _began(grid: Grid, holds: Mask) -> Floats:
    """Where it holds: the first timestamp since which it does."""
    first = holds & ~np.concatenate([[False], holds[:-1]])
    return np.maximum.accumulate(np.where(first, grid.times, 0.0))
