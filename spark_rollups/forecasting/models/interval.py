"""The median path and the prediction interval around it, from the backtest errors of the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spark_rollups.forecasting.models.backtest import ORIGINS, Backtest
from spark_rollups.forecasting.models.candidates import Model
from spark_rollups.forecasting.models.median import median
from spark_rollups.forecasting.models.projected_path import Curve, Path
from spark_rollups.forecasting.models.result import QUANTILES

Floats = NDArray[np.float64]

# The model was selected for small errors on the same days, so these errors are too small. Fitted
# on seeds that are not in the published figures.
_WIDENED = 1.2
# Errors after one origin are correlated, so there are only as many independent errors as origins:
# the 0.9 quantile of Student's t by number of origins.
_STUDENT = {
    2: 3.078, 3: 1.886, 4: 1.638, 5: 1.533, 6: 1.476, 7: 1.440,
    8: 1.415, 9: 1.397, 10: 1.383, 11: 1.372, 12: 1.363,
}  # fmt: skip
# The variance of the median of all errors, times the number of origins, by that between origins. It is
# large because overlapping origins resemble each other. Fitted like the width.
_MEDIAN_NOISE = 28.0
# A few overlapping origins do not show a skew: one purge makes one side wide. Each side takes this
# share of the other, so neither is wider than three times the other.
_EVENED = 0.25


@dataclass(frozen=True, slots=True)
class Band:
    """The QUANTILES by day ahead."""

    low: Floats
    median: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class Range:
    levels: Band
    peaks: Band


def range_of(path: Path, model: Model, tested: Backtest) -> Range:
    """The peaks are moved by the shrunk median of their errors, so that the likely date is a median.

    The levels are not: that would make their errors larger.
    """
    levels = band_of(path.levels, tested.level_errors(model), 0.0)
    bounded = (
        np.clip(q, path.floor, path.ceiling) for q in (levels.low, levels.median, levels.high)
    )
    errors = tested.peak_errors(model)
    return Range(Band(*bounded), band_of(path.peaks, errors, shrunk_median(errors)))


def band_of(curve: Curve, errors: list[Floats], shift: float) -> Band:
    """The curve moved by `shift`, and the interval around it from the errors by origin."""
    below, middle, above = np.quantile(np.concatenate(errors), QUANTILES)
    wider = _WIDENED * _STUDENT[len(errors)] / _STUDENT[ORIGINS]
    down, up = wider * (middle - below), wider * (above - middle)
    evened = _EVENED * (up - down)
    # Distances to the median keep the order without a bound that would bias the dates.
    offsets = (shift - down - evened, shift, shift + up - evened)
    return Band(*(curve.moved(float(offset)) for offset in offsets))


def shrunk_median(errors: list[Floats]) -> float:
    """The median, times the share of its square that the spread between origins does not explain."""
    middle = median(np.concatenate(errors))
    origins = np.array([median(each) for each in errors])
    noise = _MEDIAN_NOISE * float(origins.var(ddof=1)) / len(origins)
    # Squares of tiny errors may underflow to 0.
    return middle * middle**2 / (middle**2 + noise) if middle**2 > 0 else 0.0
