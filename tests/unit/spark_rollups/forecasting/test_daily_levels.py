"""Points to days: what is dropped and counted, and which level stands for a day."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spark_rollups.forecasting.models.daily_levels import DAY, Dropped, days_of, points_of

HOUR = 3600.0


def test_what_cannot_be_a_level_is_dropped_and_counted() -> None:
    values = [1.0, math.nan, math.inf, -1.0, float(2**64 - 1), 6.0]
    points = points_of(np.arange(6.0), values)
    assert points.values.tolist() == [1.0, 6.0]
    assert points.dropped == Dropped(not_a_number=2, negative=1, absurd=1)
    assert str(points.dropped) == "2 not a number, 1 negative, 1 absurd"


def test_points_in_any_order_are_sorted_and_of_equal_times_the_last_stays() -> None:
    points = points_of([20.0, 10.0, 20.0], [2.0, 1.0, 3.0])
    assert points.times.tolist() == [10.0, 20.0]
    assert points.values.tolist() == [1.0, 3.0]
    assert points.dropped == Dropped(repeated=1)


def test_a_high_below_its_own_point_or_not_a_number_is_the_point() -> None:
    points = points_of([1.0, 2.0, 3.0], [5.0, 5.0, 5.0], [4.0, math.nan, 9.0])
    assert points.highs.tolist() == [5.0, 5.0, 9.0]


def test_arrays_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(ValueError, match=r"times \(2,\), values \(1,\)"):
        points_of([1.0, 2.0], [1.0])


def test_a_day_ends_where_the_newest_point_lies() -> None:
    times = np.array([0.0, 6 * HOUR, 30 * HOUR])  # the newest day began at hour 6, without it
    days = days_of(points_of(times, [1.0, 2.0, 3.0]))
    assert days.end == 30 * HOUR
    assert days.closes.tolist() == [2.0, 3.0]


def test_a_day_without_points_is_missing() -> None:
    days = days_of(points_of(np.array([0.0, 1.0, 3.0]) * DAY, [1.0, 2.0, 4.0]))
    assert np.array_equal(days.closes, [1.0, 2.0, math.nan, 4.0], equal_nan=True)
    assert np.array_equal(days.highs, [1.0, 2.0, math.nan, 4.0], equal_nan=True)
    assert days.observed == 3


def test_a_spike_in_the_last_hour_is_not_the_level_of_the_day() -> None:
    values = np.full(48, 10.0)
    values[-1] = 99.0
    days = days_of(points_of(np.arange(48) * HOUR, values))
    assert days.closes.tolist() == [10.0, 10.0]
    assert days.highs.tolist() == [10.0, 99.0]


def test_days_beyond_a_year_are_dropped() -> None:
    days = days_of(points_of(np.arange(500) * DAY, np.arange(500.0)))
    assert len(days.closes) == 365
    assert days.closes[0] == 135.0
