"""How wide a forecast's range is: as wide as what was tested allows, in young series above all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.forecast.kinds import DAY_HOURS
from bench.forecast.series import Series, series_set
from spark_rollups.forecasting.models.backtest import backtest
from spark_rollups.forecasting.models.candidates import MODELS, Model
from spark_rollups.forecasting.models.daily_levels import DAY, Days
from spark_rollups.forecasting.models.forecast import forecast
from spark_rollups.forecasting.models.interval import (
    Range,
    band_of,
    range_of,
    shrunk_median,
)
from spark_rollups.forecasting.models.known_history import history_of
from spark_rollups.forecasting.models.projected_path import Curve, Path, growth_of_error
from spark_rollups.forecasting.models.result import Exhaustion, Level
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


# --- where the width and the place come from ------------------------------------------------------


def restless(count: int) -> Floats:
    return np.asarray(500 + np.cumsum(np.random.default_rng(7).lognormal(1, 0.5, count)))


def range_after(levels: Floats) -> tuple[Path, Range, list[Floats]]:
    """Of the linear model, and the errors that its backtest found."""
    history = history_of(levels, levels)
    tested = backtest(Days((len(levels) - 1) * DAY, levels, levels.copy()), history)
    path = MODELS[Model.LINEAR](history, 90)
    assert path is not None
    return path, range_of(path, Model.LINEAR, tested), tested.level_errors(Model.LINEAR)


@pytest.mark.parametrize(("count", "widened"), [(24, 2.71), (30, 1.66), (35, 1.44), (90, 1.2)])
def test_the_fewer_origins_the_more_the_errors_are_widened(count: int, widened: float) -> None:
    _, found, errors = range_after(restless(count))
    below, above = np.quantile(np.concatenate(errors), (0.1, 0.9))
    width = found.levels.high - found.levels.low
    expected = widened * (above - below) * growth_of_error(90)
    assert width == pytest.approx(expected, rel=0.01)


def test_the_peaks_are_moved_by_the_shrunk_median_of_their_errors_and_the_levels_are_not() -> None:
    path, found, errors = range_after(restless(90))
    moved = found.peaks.median - path.peaks.values
    assert shrunk_median(errors) != 0
    assert moved == pytest.approx(shrunk_median(errors) * growth_of_error(90))
    assert found.levels.median == pytest.approx(path.levels.values)


def test_a_median_that_all_origins_share_is_not_shrunk_and_a_doubtful_one_is() -> None:
    assert shrunk_median([np.full(30, 2.0)] * 12) == 2.0
    doubtful = [np.full(30, 2.0 + off) for off in (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0)]
    noise = 28 * (14 / 3) / 7
    assert shrunk_median(doubtful) == pytest.approx(2 * 4 / (4 + noise))
    assert shrunk_median([np.zeros(30)] * 2) == 0.0


@pytest.mark.parametrize("relative", [False, True])
def test_errors_of_one_sign_put_the_path_inside_the_interval(relative: bool) -> None:
    """A bound at no error would put the likely date at the edge of its range."""
    curve = Curve(np.full(30, 100.0), np.ones(30), relative)
    late = [np.linspace(0.1, 0.2, 30)] * 12
    band = band_of(curve, late, 0.15)
    assert (band.low < band.median).all()
    assert (band.median < band.high).all()
    assert (band.low > 100).all()
    middle = (band.median - band.low) / (band.high - band.low)
    assert middle == pytest.approx(np.full(30, 0.5), abs=0.03)


# --- one purge among the origins of the backtest --------------------------------------------------


def place_of(when: Exhaustion) -> float:
    """Of the likely date in its bar: 0 is the earliest date, 1 the latest."""
    assert when.earliest is not None
    assert when.median is not None
    assert when.latest is not None
    return (when.median - when.earliest) / (when.latest - when.earliest)


@pytest.mark.parametrize("step", [-1.0, 1.0], ids=["purge", "load"])
@pytest.mark.parametrize("age", [4, 11, 18, 25, 40])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_one_step_does_not_put_the_likely_date_at_an_edge(step: float, age: int, seed: int) -> None:
    """With sides that are not evened, 21 of these 30 fail."""
    day = np.arange(60)
    grown = np.random.default_rng(seed).lognormal(2.5, 0.1, 60) * np.where(day % 7 < 5, 1, 0.4)
    levels = 3000 + np.cumsum(grown) + np.where(day >= 60 - age, step * 150, 0.0)
    found = forecast(day * DAY, levels, limit=float(levels[-1]) + 20 * float(grown.mean()))
    assert 0.1 < place_of(found.exhaustion) < 0.9


@pytest.mark.parametrize("until", [date(2026, 11, 17), date(2026, 11, 18), date(2026, 11, 24)])
def test_the_likely_date_of_the_demos_purged_stream_is_inside_its_bar(until: date) -> None:
    recording = record(make_grid(until, 60, STEP))
    times = recording.grid.times[5::6] + STEP
    levels, limits = (
        next(
            each.values[5::6]
            for each in recording.series
            if each.name == name and ("stream", "PAYMENTS") in each.labels
        )
        for name in ("streamgauge_stream_bytes", LEVELS["streamgauge_stream_bytes"])
    )
    when = forecast(times, levels, limit=float(limits[-1])).exhaustion
    assert 0.1 < place_of(when) < 0.5


def test_sides_are_evened_by_a_quarter_and_keep_their_sum() -> None:
    curve = Curve(np.full(30, 100.0), np.ones(30))
    errors = [np.concatenate([np.full(10, -8.0), np.zeros(19), [1.0]])] * 12
    band = band_of(curve, errors, 0.0)
    down, up = 100 - band.low[0], band.high[0] - 100
    below, middle, above = np.quantile(np.concatenate(errors), (0.1, 0.5, 0.9))
    assert down + up == pytest.approx(1.2 * (above - below))
    assert max(down, up) / min(down, up) == pytest.approx(3)
    assert min(middle - below, above - middle) == 0
