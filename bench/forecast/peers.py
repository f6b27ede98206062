"""What others forecast for the same series: predict_linear over 28 days, and AutoETS.

AutoETS is that of statsforecast, which is no dependency: `pip install statsforecast` to compare.
"""

from __future__ import annotations

import importlib
import time
import warnings
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from bench.forecast.kinds import AHEAD_DAYS
from bench.forecast.series import Series
from spark_rollups.forecasting.models.daily_levels import days_of, points_of
from spark_rollups.forecasting.models.known_history import history_of
from spark_rollups.forecasting.models.predict_linear import predict_linear

Floats = NDArray[np.float64]

_WINDOW_DAYS = 28


@dataclass(frozen=True)
class Predicted:
    """By day ahead: the level, and the highest within the day."""

    levels: Floats
    tops: Floats
    seconds: float


def by_line(series: Series) -> Predicted:
    points = points_of(series.times, series.values)
    leads = np.arange(1.0, AHEAD_DAYS + 1)
    began = time.process_time()
    line = predict_linear(points, series.times[-1], _WINDOW_DAYS, leads)
    took = time.process_time() - began
    # Without two points Prometheus has no result: assume the level stays.
    levels = np.full(AHEAD_DAYS, series.values[-1]) if line is None else line
    return Predicted(levels, levels, took)


def has_auto_ets() -> bool:
    return find_spec("statsforecast") is not None


def by_auto_ets(series: Series) -> Predicted:
    """On the same daily levels, without gaps and excursions, and with the same rise within a day."""
    days = days_of(points_of(series.times, series.values))
    history = history_of(days.closes, days.highs)
    size = float(history.levels.mean())
    models = importlib.import_module("statsforecast.models")
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = models.AutoETS(season_length=7).forecast(y=history.levels / size, h=AHEAD_DAYS)
    levels = size * np.asarray(found["mean"])
    return Predicted(levels, levels + history.intraday_rise, time.process_time() - began)
