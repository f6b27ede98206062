"""Trends: robust to purges, loads, weeks and gaps, and silent where chance explains it all."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from spark_rollups.forecasting.models.daily_levels import DAY
from spark_rollups.forecasting.models.known_history import history_of, steps_in
from spark_rollups.forecasting.models.slope import last_change, slope_range
from spark_rollups.forecasting.models.trend import Direction, trend
from spark_rollups.forecasting.models.weekly_season import profile_ahead, weekly_profile

Floats = NDArray[np.float64]

DAYS = np.arange(40.0)
LINE = 1000 + 10 * DAYS


def test_a_line_grows_by_its_slope() -> None:
    found = trend(DAYS * DAY, LINE)
    assert found.direction is Direction.GROWING
    assert found.per_day == pytest.approx(10)
    assert [found.low, found.high] == pytest.approx([10, 10])
    assert found.level == 1390.0


@pytest.mark.parametrize("size", [-900.0, 5000.0])
def test_a_purge_or_a_load_does_not_change_the_trend_and_is_reported(size: float) -> None:
    found = trend(DAYS * DAY, LINE + np.where(DAYS >= 25, size, 0) + 1000)
    assert found.per_day == pytest.approx(10)
    assert found.stepped == pytest.approx(size + 10)


def test_a_restart_that_shows_zero_for_a_day_does_not_bend_the_trend() -> None:
    found = trend(DAYS * DAY, np.where(DAYS == 30, 0.0, LINE))
    assert found.per_day == pytest.approx(10)
    assert found.stepped == 0


def test_a_week_is_not_taken_for_a_trend() -> None:
    week = 100 + 50 * (DAYS % 7 >= 5)
    assert trend(DAYS * DAY, week).direction is Direction.STEADY
    assert trend(DAYS * DAY, week + 2 * DAYS).per_day == pytest.approx(2)


def test_noise_is_mostly_steady_and_a_slope_in_it_is_mostly_found() -> None:
    random = np.random.default_rng(7)
    noise = [random.normal(0, 1, 40) for _ in range(60)]
    moved = [trend(DAYS * DAY, 100 + each).direction is not Direction.STEADY for each in noise]
    found = [trend(DAYS * DAY, 100 - 0.5 * DAYS + each).direction for each in noise]
    assert sum(moved) <= 15
    assert found.count(Direction.FALLING) >= 57


def test_a_walk_is_mostly_steady_for_its_days_resemble_each_other() -> None:
    random = np.random.default_rng(8)
    walks = [1000 + np.cumsum(random.normal(0, 1, 40)) for _ in range(60)]
    moved = [trend(DAYS * DAY, walk).direction is not Direction.STEADY for walk in walks]
    assert sum(moved) <= 20


def test_the_range_of_a_slope_does_not_see_the_week() -> None:
    week = 50.0 * (np.arange(24) % 7)
    assert slope_range(week + 3 * DAYS[:24]) == pytest.approx((3, 3, 3))


def test_missing_days_do_not_bend_it() -> None:
    kept = (DAYS < 20) | (DAYS > 24)
    assert trend(DAYS[kept] * DAY, LINE[kept]).per_day == pytest.approx(10)


def test_a_constant_is_steady() -> None:
    found = trend(DAYS * DAY, np.full(40, 5.0))
    assert (found.direction, found.per_day) == (Direction.STEADY, 0.0)


def test_too_few_days_are_unknown_with_the_reason() -> None:
    found = trend(DAYS[:13] * DAY, LINE[:13])
    assert found.direction is Direction.UNKNOWN
    assert found.reason == "points on 13 of the last 28 days, 14 are needed"
    assert found.per_day is None
    assert trend([], []).reason == "no points"


def test_the_median_of_pairs_does_not_see_a_spike() -> None:
    levels = 3 * np.arange(9.0)
    levels[4] = 1000
    assert slope_range(levels)[0] == 3


def test_a_growth_that_changed_is_counted_from_its_last_change() -> None:
    random = np.random.default_rng(1)
    increments = np.repeat([1.0, 5.0, 2.0], [20, 15, 12]) + random.normal(0, 0.2, 47)
    assert last_change(increments) == 35
    assert last_change(np.full(40, 3.0)) == 0
    assert last_change(random.normal(0, 1, 60)) == 0


def test_steps_are_distinguished_from_the_quiet_days_of_a_week() -> None:
    week = np.tile([10.0, 11, 9, 10, 12, 0, 1], 6)
    assert not steps_in(week).any()
    week[20], week[30] = -200, 150
    assert np.flatnonzero(steps_in(week)).tolist() == [20, 30]


def test_loads_that_recur_belong_to_the_growth_and_a_single_one_does_not() -> None:
    def growing(loads: list[int]) -> int:
        increments = np.ones(50)
        increments[loads] = 100
        levels = np.concatenate([[0.0], np.cumsum(increments)])
        return int(history_of(levels, levels).growing.sum())

    assert growing([12]) == 49
    assert growing([10, 22, 35]) == 50


def test_the_weekly_profile_adds_nothing_to_a_whole_week() -> None:
    increments = np.tile([10.0, 10, 10, 10, 10, 0, 0], 8)
    profile = weekly_profile(increments, np.ones(56, np.bool_))
    assert profile.sum() == pytest.approx(0)
    # The newest day was the second quiet one, so five busy ones come first.
    assert profile_ahead(profile, 7) == pytest.approx(np.array([20, 20, 20, 20, 20, -50, -50]) / 7)


def test_chance_is_not_taken_for_a_week() -> None:
    noise = np.random.default_rng(2).normal(0, 1, (40, 56))
    every = np.ones(56, np.bool_)
    sizes = [np.abs(weekly_profile(10 + each, every)).max() for each in noise]
    plain = [np.abs(each.reshape(8, 7).mean(axis=0) - each.mean()).max() for each in noise]
    assert np.median(sizes) < 0.3 * np.median(plain)
