"""The histogram of ack times, as the exporter makes it from ack samples."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Final

import numpy as np

from exporter import catalog as c
from streamgauge.demo.history.recorded_series import Recording
from streamgauge.demo.history.time_grid import Floats, since_exporter_start

# The bounds of the exporter.
BOUNDS: Final = (
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
    1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
)  # fmt: skip
_SAMPLED: Final = 0.1
_SPREAD: Final = 0.8


def record_ack_times(
    recording: Recording, who: tuple[str, ...], deliveries: Floats, usual: float
) -> None:
    """Of a tenth of the acks, around the usual time."""
    counts = [
        since_exporter_start(recording.grid, np.floor(np.cumsum(deliveries * _SAMPLED * share)))
        for share in _shares(usual)
    ]
    mean = usual * math.exp(_SPREAD * _SPREAD / 2)
    together = np.array(counts)
    total = together.sum(axis=0) * mean
    recording.add_histogram(c.CONSUMER_ACK_SECONDS, who, BOUNDS, together, total)


def _shares(usual: float) -> list[float]:
    """The part of a lognormal distribution in each bucket."""
    below = [0.5 * (1 + math.erf(math.log(b / usual) / (_SPREAD * math.sqrt(2)))) for b in BOUNDS]
    return [high - low for low, high in pairwise([0.0, *below, 1.0])]
