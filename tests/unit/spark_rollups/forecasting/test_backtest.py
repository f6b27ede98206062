"""The backtest: only the past is known at an origin, and errors are those of the days after it."""

from __future__ import annotations

import numpy as np
import pytest

from spark_rollups.forecasting.models.backtest import (
    backtest,
    origins_of,
    predict_linear_errors,
)
from spark_rollups.forecasting.models.candidates import MODELS, Model
from spark_rollups.forecasting.models.daily_levels import DAY, Days, days_of, points_of
from spark_rollups.forecasting.models.known_history import history_of
from spark_rollups.forecasting.models.predict_linear import predict_linear
from spark_rollups.forecasting.models.projected_path import growth_of_error
from spark_rollups.forecasting.models.purge_cycle import cycle_ahead, cycle_of
from spark_rollups.forecasting.models.slope import last_change

COUNT = 70
DAYS = np.arange(float(COUNT))


def days_from(closes: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Days:
    return Days((COUNT - 1) * DAY, closes, closes.copy())


def restless(seed: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    random = np.random.default_rng(seed)
    stream_growth = 500 + np.cumsum(random.lognormal(1, 0.5, COUNT))
    return np.asarray(stream_growth - np.where(DAYS >= 33, 60, 0))


def test_twelve_origins_lie_five_days_apart() -> None:
    assert origins_of(np.arange(90.0)) == list(range(84, 25, -5))


def test_an_origin_without_a_point_moves_back_to_the_last_one() -> None:
    closes = DAYS.copy()
    closes[58:65] = np.nan
    assert origins_of(closes) == [57, *range(54, 13, -5)]


def test_an_origin_needs_a_fortnight_before_it() -> None:
    assert origins_of(DAYS[:24]) == [18, 13]
    assert origins_of(DAYS[:18]) == []


@pytest.mark.parametrize("seed", range(4))
def test_nothing_looks_into_the_future(seed: int) -> None:
    closes = restless(seed)
    days = days_from(closes)
    plain = backtest(days, history_of(closes, closes))
    for origin in plain.origins:
        changed = closes.copy()
        changed[origin.day + 1 :] = 77.7 + 1000 * np.random.default_rng(seed).random(
            COUNT - origin.day - 1
        )
        other = backtest(days_from(changed), history_of(changed, changed))
        again = next(each for each in other.origins if each.day == origin.day)
        assert again.predictions.keys() == origin.predictions.keys()
        for model, path in origin.predictions.items():
            assert np.array_equal(again.predictions[model].levels.values, path.levels.values)
            assert np.array_equal(again.predictions[model].peaks.values, path.peaks.values)


def test_truth_is_what_came_after_the_origin() -> None:
    closes = restless(0)
    for origin in backtest(days_from(closes), history_of(closes, closes)).origins:
        after = closes[origin.day + 1 : origin.day + 31]
        assert origin.actual.tolist() == after.tolist()
        assert origin.peaks[-1] >= after.max()
        assert (np.diff(origin.peaks) >= 0).all()


def test_a_spike_is_no_peak() -> None:
    line = 100 + 5 * DAYS
    spiked = np.where(DAYS == 50, 9 * line, line)
    days = Days((COUNT - 1) * DAY, line, spiked)
    for origin in backtest(days, history_of(line, spiked)).origins:
        assert origin.peaks.tolist() == origin.actual.tolist()


def test_the_error_of_the_last_value_on_a_line_is_its_slope() -> None:
    line = 100 + 5 * DAYS
    tested = backtest(days_from(line), history_of(line, line))
    leads = [np.arange(1.0, min(30, 69 - day) + 1) for day in origins_of(line)]
    expected = np.mean(np.concatenate([5 * lead / lead**0.8 for lead in leads]))
    assert tested.error(Model.LAST_VALUE) == pytest.approx(expected)
    assert tested.error(Model.LINEAR) == pytest.approx(0, abs=1e-9)
    assert tested.best(MODELS) is Model.LINEAR


def test_days_after_a_sudden_purge_do_not_choose_the_model() -> None:
    closes = 5000 + 10 * DAYS - np.where(DAYS >= 45, 400, 0) - np.where(DAYS >= 60, 700, 0)
    tested = backtest(days_from(closes), history_of(closes, closes))
    by_day = {origin.day: origin.foreseeable for origin in tested.origins}
    assert by_day[64].all()
    assert by_day[54].tolist() == [True] * 5 + [False] * 10
    # The growth that the last-value model misses is attributed to the unforeseen purge.
    assert tested.error(Model.LAST_VALUE) < tested.error(Model.LINEAR)
    assert tested.best(MODELS) is Model.LINEAR
    # What the purge did to the level still widens the interval.
    assert min(each.min() for each in tested.level_errors(Model.LINEAR)) < -50


def test_a_purge_on_the_day_after_an_origin_leaves_it_no_say() -> None:
    closes = 5000 + 10 * DAYS - np.where(DAYS >= 60, 300, 0)
    tested = backtest(days_from(closes), history_of(closes, closes))
    by_day = {origin.day: origin.foreseeable for origin in tested.origins}
    assert not by_day[59].any()


def test_days_after_a_change_of_growth_have_no_say_and_growth_by_a_share_is_none() -> None:
    changed = 5000 + 10 * DAYS + 20 * np.maximum(DAYS - 56, 0)
    origins = backtest(days_from(changed), history_of(changed, changed)).origins
    assert [int(origin.foreseeable.sum()) for origin in origins] == [
        5, 10, 2, 7, 12, 17, 22, 27, 30, 30, 30,
    ]  # fmt: skip
    shares = 100 * 1.02**DAYS
    assert last_change(np.diff(shares)) > 0
    origins = backtest(days_from(shares), history_of(shares, shares)).origins
    assert all(origin.foreseeable.all() for origin in origins)


def test_days_after_a_change_of_growth_do_not_widen_the_interval() -> None:
    stopped = 1000 + 10 * np.minimum(DAYS, 50)
    tested = backtest(days_from(stopped), history_of(stopped, stopped))
    assert tested.error(Model.LINEAR) > 1
    for errors in (tested.level_errors(Model.LINEAR), tested.peak_errors(Model.LINEAR)):
        assert len(errors) == 11
        # The origins at 64, 59 and 54 lie after the change.
        assert np.concatenate(errors[3:]) == pytest.approx(0, abs=1e-9)


def test_purges_that_follow_a_rule_do_choose_the_model() -> None:
    closes = 100 + 10 * (DAYS % 9)
    history = history_of(closes, closes)
    assert cycle_of(history) is not None
    tested = backtest(days_from(closes), history)
    assert all(origin.foreseeable.all() for origin in tested.origins)
    assert tested.best(MODELS) is Model.PURGE_CYCLE


def test_purges_without_a_rule_are_no_cycle() -> None:
    increments = np.full(COUNT - 1, 10.0)
    increments[[8, 12, 40, 47]] = -30.0, -300.0, -80.0, -500.0
    levels = 1000 + np.concatenate([[0.0], np.cumsum(increments)])
    assert cycle_of(history_of(levels, levels)) is None


def test_a_cycle_that_was_given_up_is_none() -> None:
    closes = np.where(DAYS < 36, 100 + 10 * (DAYS % 9), 100 + 10 * (DAYS - 36))
    assert cycle_of(history_of(closes[:45], closes[:45])) is not None
    assert cycle_of(history_of(closes, closes)) is None


def test_a_calendar_of_half_days_does_not_drift() -> None:
    purges = np.cumsum([8, 10, 9, 10, 9, 10, 9])  # each nine and a half days, seen by the day
    increments = np.full(COUNT - 1, 10.0)
    increments[purges - 1] = -85.0, -60, -110, -85, -60, -110, -85
    levels = 500 + np.concatenate([[0.0], np.cumsum(increments)])
    path = cycle_ahead(history_of(levels, levels), 190)
    assert path is not None
    assert int((np.diff(path.levels.values) < 0).sum()) == 20


def test_a_purge_across_missing_days_is_one_purge() -> None:
    closes = 100 + 10 * (DAYS % 15)
    closes[45:48] = np.nan
    cycle = cycle_of(history_of(closes, closes))
    assert cycle is not None
    assert cycle.length == 15


def test_a_purge_by_size_comes_when_the_size_is_reached() -> None:
    stream_growth, level = [], 0.0
    for day in range(COUNT):
        level = 0.0 if level >= 90 else level + (5.0 if day < 30 else 10.0)
        stream_growth.append(100 + level)
    levels = np.array(stream_growth)
    cycle = cycle_of(history_of(levels, levels))
    assert cycle is not None
    assert not cycle.by_length
    assert cycle.peak == pytest.approx(190)
    assert cycle.trough == 100


def test_errors_grow_with_the_lead_to_the_power_of_four_fifths() -> None:
    assert growth_of_error(32)[[0, 31]].tolist() == pytest.approx([1.0, 16.0])


def test_predict_linear_is_the_least_squares_line_over_its_window() -> None:
    hours = np.arange(10 * 24)
    values = 50 + hours + np.random.default_rng(3).normal(0, 4, 240)
    points = points_of(hours * 3600.0, values)
    at, ahead = float(hours[-1] * 3600), np.array([1.0, 30.0])
    for window in (1, 7):
        inside = hours * 3600.0 > at - window * DAY
        slope, level = np.polyfit((hours[inside] * 3600.0 - at) / DAY, values[inside], 1)
        predictions = predict_linear(points, at, window, ahead)
        assert predictions is not None
        assert predictions == pytest.approx(level + slope * ahead)


def test_predict_linear_has_no_result_for_a_single_point() -> None:
    points = points_of(DAYS * DAY, DAYS)
    assert predict_linear(points, 69 * DAY, 1, np.array([1.0])) is None


def test_predict_linear_is_judged_at_the_same_origins_without_the_future() -> None:
    line = 100 + 5 * DAYS
    points = points_of(DAYS * DAY, line)
    days = days_of(points)
    origins = backtest(days, history_of(line, line)).origins
    assert predict_linear_errors(points, days, origins) == {
        7: pytest.approx(0, abs=1e-9),
        28: pytest.approx(0, abs=1e-9),
    }
    bent = np.where(DAYS > 64, 10 * line, line)  # after the newest origin
    points = points_of(DAYS * DAY, bent)
    errors = predict_linear_errors(points, days_of(points), origins)
    assert errors[7] == pytest.approx(0, abs=1e-9)
