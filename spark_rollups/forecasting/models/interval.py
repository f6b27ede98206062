"""The prediction interval around a path, from the backtest errors of the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spark_rollups.forecasting.models.backtest import ORIGINS, Backtest, growth_of_error
from spark_rollups.forecasting.models.candidates import Model
from spark_rollups.forecasting.models.projected_path import Path
from spark_rollups.forecasting.models.result import QUANTILES

Floats = NDArray[np.float64]

# The model was selected for small errors on the same days, so these errors are too small. Fitted
# on seeds that are not in the published figures.
_WIDENED = 1.5
# Errors after one origin are correlated, so there are only as many independent errors as origins:
# the 0.9 quantile of Student's t by number of origins.
_STUDENT = {2: 3.078, 3: 1.886, 4: 1.638, 5: 1.533, 6: 1.476}


@dataclass(frozen=True, slots=True)
class Range:
    """By day ahead: low, median and high level, and how far the daily peak lies above the close."""

    low: Floats
    median: Floats
    high: Floats
    intraday_rise: Floats


def range_of(path: Path, model: Model, tested: Backtest) -> Range:
    growth = _growth(len(path.levels), tested.longest_lead(model))
    widened = _widened(tested.times_fitting(model))
    if model is Model.LOGARITHMIC:
        below, above = _offsets(tested.relative_errors(model), widened)
        low, high = path.levels * np.exp(below * growth), path.levels * np.exp(above * growth)
    else:
        below, above = _offsets(tested.absolute_errors(model), widened)
        low, high = path.levels + below * growth, path.levels + above * growth
    low = np.maximum(low, path.floor)
    # On the day before a purge the path may exceed the peaks of earlier cycles.
    high = np.maximum(np.minimum(high, path.ceiling), path.levels)
    return Range(low, path.levels, high, path.tops - path.levels)


def _widened(origins: int) -> float:
    return _WIDENED * _STUDENT[origins] / _STUDENT[ORIGINS]


def _growth(days: int, tested: int) -> Floats:
    """Like the errors of the backtest; linear beyond its longest lead."""
    leads = np.arange(1.0, days + 1)
    return np.asarray(growth_of_error(np.minimum(leads, tested)) * np.maximum(leads / tested, 1.0))


def _offsets(errors: Floats, widened: float) -> tuple[float, float]:
    """Offsets of the low and the high level at lead 1; the first is at most 0, the second at least 0."""
    below, above = np.quantile(errors, (QUANTILES[0], QUANTILES[-1])) * widened
    return min(0.0, float(below)), max(0.0, float(above))
