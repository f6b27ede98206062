"""The damped trend and the mean-reverting model on levels whose future is known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from spark_rollups.forecasting.models.candidates import MODELS, Model
from spark_rollups.forecasting.models.daily_levels import DAY
from spark_rollups.forecasting.models.forecast import forecast
from spark_rollups.forecasting.models.known_history import history_of
from spark_rollups.forecasting.models.mean_reversion import persistence
from spark_rollups.forecasting.models.median import median, medians
from spark_rollups.forecasting.models.projected_path import Path

Floats = NDArray[np.float64]

DAYS = np.arange(90.0)
KEYS = 1000 - 900 * 0.5 ** (DAYS / 25)  # a set of keys that fills up


def path_of(model: Model, levels: Floats, days: int = 90) -> Path:
    found = MODELS[model](history_of(levels, levels), days)
    assert found is not None
    return found


def around(mean: float, seed: int, kept: float = 0.7) -> Floats:
    """A first-order autoregression."""
    shocks = np.random.default_rng(seed).normal(0, 10, 90)
    levels = np.empty(90)
    apart = 0.0
    for day, shock in enumerate(shocks):
        apart = kept * apart + shock
        levels[day] = mean + apart
    return levels


def test_a_damped_trend_converges_to_its_end() -> None:
    ahead = path_of(Model.DAMPED, KEYS, 400).levels.values
    assert (np.diff(ahead) > 0).all()
    assert ahead[29] == pytest.approx(1000 - 900 * 0.5 ** (119 / 25), rel=0.005)
    assert ahead[-1] == pytest.approx(1000, rel=0.01)
    assert ahead[-1] - ahead[-2] < 0.01


def test_a_damped_decline_converges_too() -> None:
    ahead = path_of(Model.DAMPED, 2000 - KEYS, 400).levels.values
    assert (np.diff(ahead) < 0).all()
    assert ahead[-1] == pytest.approx(1000, rel=0.01)


@pytest.mark.parametrize("step", [-500.0, 500.0])
def test_a_step_does_not_bend_a_damped_trend(step: float) -> None:
    stepped = 1000 + KEYS + np.where(DAYS >= 60, step, 0.0)
    plain, bent = (path_of(Model.DAMPED, each).levels.values for each in (KEYS, stepped))
    assert bent[-1] - stepped[-1] == pytest.approx(plain[-1] - KEYS[-1], rel=0.05)


def test_a_constant_has_no_trend_to_damp() -> None:
    assert path_of(Model.DAMPED, np.full(90, 7.0)).levels.values == pytest.approx(np.full(90, 7.0))


def test_a_set_of_keys_is_forecast_by_the_damped_trend_and_never_fills() -> None:
    found = forecast(DAYS * DAY, KEYS, limit=1050.0)
    assert found.model is Model.DAMPED
    assert found.exhaustion.median is None


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("off", [-30.0, 30.0])
def test_the_mean_reverting_model_returns_to_the_usual_level(seed: int, off: float) -> None:
    levels = around(1000.0, seed)
    levels[-1] += off
    ahead = path_of(Model.MEAN_REVERTING, levels).levels.values
    apart = np.abs(ahead - ahead[-1])
    assert ahead[-1] == pytest.approx(1000, abs=15)
    assert (np.diff(apart) <= 1e-9).all()
    assert 0.1 < apart[0] / abs(levels[-1] - ahead[-1]) < 0.9


def test_a_clear_slope_is_the_line_to_return_to_and_a_doubtful_one_is_not() -> None:
    """A stream with max_age under a load that grows, and under one that does not."""
    growing = path_of(Model.MEAN_REVERTING, around(1000.0, 1) + 3 * DAYS).levels.values
    assert growing[-1] == pytest.approx(1000 + 3 * 179, abs=30)
    assert growing[-1] - growing[-8] == pytest.approx(7 * 3, rel=0.15)
    steady = path_of(Model.MEAN_REVERTING, around(1000.0, 1) + 0.05 * DAYS).levels.values
    assert steady[-1] == pytest.approx(steady[-8])


def test_the_return_keeps_the_week() -> None:
    week = np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 70.0, 70.0], 13)[:90]
    ahead = path_of(Model.MEAN_REVERTING, 500 + week).levels.values
    expected = np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 70.0, 70.0], 30)[90:180]
    assert ahead == pytest.approx(500 + expected, abs=1e-6)


def test_the_errors_of_the_return_stop_growing_and_those_of_its_peaks_do_not() -> None:
    path = path_of(Model.MEAN_REVERTING, around(1000.0, 1))
    assert path.levels.spread[0] < path.levels.spread[9] < 1
    assert path.levels.spread[-1] == pytest.approx(1, abs=1e-6)
    assert path.peaks.spread[[0, 3, 80]].tolist() == pytest.approx([1, 2, 9])


def test_persistence_is_that_of_the_levels() -> None:
    assert persistence(np.full(90, 5.0)) == 0.0
    assert persistence(np.tile([1.0, -1.0], 45)) == 0.0
    assert persistence(around(0.0, 1, kept=0.0)) < 0.3
    assert 0.6 < persistence(around(0.0, 1, kept=0.8)) < 0.95
    assert persistence(np.cumsum(np.ones(90))) == 0.97


def test_a_stream_with_max_age_is_forecast_at_its_usual_level() -> None:
    found = forecast(DAYS * DAY, around(1000.0, 4), limit=1200.0)
    assert found.model is Model.MEAN_REVERTING
    for level in found.levels[1:]:
        assert level.median == pytest.approx(1000, abs=15)
        assert 20 < level.high - level.low < 80


def test_the_peaks_of_a_path_are_the_highest_so_far() -> None:
    falling = path_of(Model.LINEAR, 1000 - 5 * DAYS)
    assert set(falling.peaks.values) == {falling.levels.values[0]}


@pytest.mark.parametrize("count", [1, 2, 7, 10])
def test_the_median_is_that_of_numpy(count: int) -> None:
    rows = np.random.default_rng(count).normal(size=(count, 3))
    assert medians(rows).tolist() == np.median(rows, axis=0).tolist()
    assert median(rows[:, 0]) == np.median(rows[:, 0])
