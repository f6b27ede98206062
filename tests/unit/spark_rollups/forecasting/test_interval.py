"""How wide a forecast's range is: as wide as what was tested allows, in young series above all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.forecast_series import DAY_HOURS, Series, series_set
from spark_rollups.forecasting.models.backtest import backtest, growth_of_error
from spark_rollups.forecasting.models.candidates import MODELS, Model
from spark_rollups.forecasting.models.daily_levels import DAY, Days
from spark_rollups.forecasting.models.forecast import forecast
from spark_rollups.forecasting.models.interval import Range, range_of
from spark_rollups.forecasting.models.known_history import history_of
from spark_rollups.forecasting.models.result import Level
from spark_rollups.metric_selection import FORECASTED
from streamgauge.demo.history.recording import record
from streamgauge.demo.history.time_grid import make_grid

Floats = NDArray[np.float64]

AHEAD = 30
STEP = 600
LEVELS = {each.metric: each.limit for each in FORECASTED}


def young(series: Series, days: int) -> Series:
    kept = series.times > series.times[-1] - days * DAY
    return replace(series, times=series.times[kept], values=series.values[kept])


def level_ahead(levels: tuple[Level, ...]) -> Level | None:
    return next((level for level in levels if level.days == AHEAD), None)


def holds(series: Series) -> bool | None:
    """None where there are too few days for a forecast."""
    predictions = level_ahead(forecast(series.times, series.values).levels)
    if predictions is None:
        return None
    return bool(predictions.low <= series.future[AHEAD * DAY_HOURS - 1] <= predictions.high)


@pytest.fixture(scope="module")
def foreseeable() -> list[Series]:
    """Skips series with irregular purges: their effect is unpredictable."""
    return [each for each in series_set(320, 2026) if each.kind != "growth with purges"]


@pytest.mark.slow
@pytest.mark.parametrize("days", [25, 30, 120])
def test_the_range_of_a_young_series_holds_as_often_as_that_of_an_old_one(
    days: int, foreseeable: list[Series]
) -> None:
    held = [result for each in foreseeable if (result := holds(young(each, days))) is not None]
    assert len(held) > 200
    assert 0.76 <= np.mean(held) <= 0.90


# --- the demo's sixty days, of which the first thirty are known -----------------------------------


def demo_levels(until: date) -> Iterator[tuple[Floats, Floats]]:
    """Hour by hour, with its times: every level that has a limit."""
    recording = record(make_grid(until, 60, STEP))
    an_hour = 3600 // STEP
    times = recording.grid.times[an_hour - 1 :: an_hour] + STEP
    limited = {(each.name, each.labels[1:]) for each in recording.series}
    for each in recording.series:
        if each.name in LEVELS and (LEVELS[each.name], each.labels[1:]) in limited:
            yield times, each.values[an_hour - 1 :: an_hour]


@pytest.mark.parametrize("until", [date(2026, 11, 24), date(2026, 11, 28), date(2026, 11, 30)])
def test_of_the_demos_forecasts_of_a_month_ago_eight_of_ten_hold(until: date) -> None:
    """They know a purge eleven days old and, of one stream, two days at a limit that was raised."""
    held = []
    for times, levels in demo_levels(until):
        known = slice(0, len(times) - AHEAD * DAY_HOURS)
        predictions = level_ahead(forecast(times[known], levels[known]).levels)
        assert predictions is not None
        held.append(predictions.low <= levels[-1] <= predictions.high)
    assert len(held) == 12
    assert sum(held) >= 9


# --- where the width comes from -------------------------------------------------------------------


def restless(count: int) -> Floats:
    return np.asarray(500 + np.cumsum(np.random.default_rng(7).lognormal(1, 0.5, count)))


def range_after(levels: Floats, days: int) -> tuple[Range, Floats]:
    """Of the linear model, and the errors that its backtest found."""
    history = history_of(levels, levels)
    tested = backtest(Days((len(levels) - 1) * DAY, levels, levels.copy()), history)
    path = MODELS[Model.LINEAR](history, days)
    assert path is not None
    return range_of(path, Model.LINEAR, tested), tested.absolute_errors(Model.LINEAR)


@pytest.mark.parametrize(("count", "widened"), [(24, 3.13), (30, 1.92), (35, 1.66), (70, 1.5)])
def test_the_fewer_origins_the_more_the_errors_are_widened(count: int, widened: float) -> None:
    found, errors = range_after(restless(count), 1)
    above = max(0.0, float(np.quantile(errors, 0.9)))
    below = min(0.0, float(np.quantile(errors, 0.1)))
    width = float(found.high[0] - found.low[0])
    assert width == pytest.approx(widened * (above - below), rel=0.01)


@pytest.mark.parametrize(("count", "tested"), [(24, 10), (70, 30)])
def test_beyond_the_longest_lead_that_was_tested_it_grows_as_a_wrong_slope_does(
    count: int, tested: int
) -> None:
    found, _ = range_after(restless(count), 90)
    width = found.high - found.low
    within = np.arange(1.0, tested + 1)
    assert width[:tested] == pytest.approx(width[0] * growth_of_error(within))
    assert width[89] == pytest.approx(width[tested - 1] * 90 / tested)


@pytest.mark.parametrize("place", [8, 16, 22])
def test_a_single_purge_does_not_bend_the_slope_of_theil_sen(place: int) -> None:
    """Pairs of days across it would outweigh the slow ones among the weekends."""
    day = np.arange(30)
    levels = 5000 + np.cumsum(np.where(day % 7 >= 5, 2.0, 13.0))
    purged = levels - np.where(day >= place, 4000.0, 0.0)
    plain, bent = (MODELS[Model.THEIL_SEN](history_of(each, each), 30) for each in (levels, purged))
    assert plain is not None
    assert bent is not None
    assert bent.levels[-1] - purged[-1] == pytest.approx(plain.levels[-1] - levels[-1], rel=0.1)


def test_purges_that_recur_belong_to_the_slope_of_theil_sen() -> None:
    day = np.arange(40.0)
    levels = 5000 + 10 * (day % 10) + day
    path = MODELS[Model.THEIL_SEN](history_of(levels, levels), 30)
    assert path is not None
    assert path.levels[-1] - levels[-1] < 300
