"""Forecasts: literal cases, and what must hold whatever the series."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.examples import examples

from spark_rollups.forecasting.models.backtest import backtest, predict_linear_errors
from spark_rollups.forecasting.models.candidates import Model
from spark_rollups.forecasting.models.daily_levels import DAY, Dropped, days_of, points_of
from spark_rollups.forecasting.models.forecast import LEAST_DAYS, forecast
from spark_rollups.forecasting.models.known_history import history_of
from spark_rollups.forecasting.models.result import HORIZONS, Exhaustion, Forecast, Outlook

Floats = NDArray[np.float64]

HOUR = 3600.0
START = 1_750_000_000.0
DAYS = np.arange(80.0)
TIMES = START + DAYS * DAY
END = float(TIMES[-1])
LINE = 1000 + 10 * DAYS


def noisy(seed: int, hours: int = 70 * 24) -> tuple[Floats, Floats]:
    """Hourly growth with a week, a night and noise."""
    random = np.random.default_rng(seed)
    hour = np.arange(hours)
    rates = (1 - 0.7 * (hour // 24 % 7 >= 5)) * (1 + 0.5 * np.sin(hour / 24 * 2 * np.pi))
    stream_growth: Floats = np.cumsum(rates * random.lognormal(0, 0.5, hours))
    return START + hour.astype(np.float64) * HOUR, 500 + stream_growth


def levels(found: Forecast) -> list[tuple[float, float, float]]:
    return [(level.low, level.median, level.high) for level in found.levels]


# --- literal cases --------------------------------------------------------------------------------


def test_a_line_reaches_its_limit_on_its_day() -> None:
    found = forecast(TIMES, LINE, limit=2000.0)
    assert found.model is Model.LINEAR
    assert [level.median for level in found.levels] == pytest.approx([1860, 2090, 2690])
    assert found.exhaustion.outlook is Outlook.ACT
    assert found.exhaustion.median == pytest.approx(END + 21 * DAY)
    assert found.as_of == END
    assert found.level == 1790.0
    assert found.accuracy is not None
    assert found.accuracy.error == pytest.approx(0, abs=1e-9)
    assert (found.accuracy.origins, found.accuracy.longest_lead_days) == (12, 30)


def test_a_limit_beyond_the_horizon_is_not_reached_before_its_end() -> None:
    exhaustion = forecast(TIMES, LINE, limit=9000.0).exhaustion
    assert exhaustion.outlook is Outlook.NOT_BEFORE
    assert exhaustion.not_before == END + 90 * DAY
    assert (exhaustion.earliest, exhaustion.median, exhaustion.latest) == (None, None, None)


@pytest.mark.parametrize("limit", [1790.0, 900.0])
def test_a_limit_already_reached_is_now(limit: float) -> None:
    exhaustion = forecast(TIMES, LINE, limit).exhaustion
    assert exhaustion.outlook is Outlook.REACHED
    assert (exhaustion.earliest, exhaustion.median, exhaustion.latest) == (END, END, END)


def test_a_constant_stays_and_never_fills() -> None:
    found = forecast(TIMES, np.full(80, 42.0), limit=43.0)
    assert found.model is Model.LAST_VALUE
    assert levels(found) == [(42.0, 42.0, 42.0)] * 3
    assert found.exhaustion.outlook is Outlook.NOT_BEFORE


def test_an_empty_stream_stays_empty() -> None:
    found = forecast(TIMES, np.zeros(80), limit=10.0)
    assert levels(found) == [(0.0, 0.0, 0.0)] * 3
    assert found.accuracy is not None
    assert found.accuracy.error == 0.0


def test_growth_by_a_share_is_drawn_as_such() -> None:
    found = forecast(TIMES, 100 * 1.01**DAYS, limit=300.0)
    assert found.model is Model.LOGARITHMIC
    assert found.levels[1].median == pytest.approx(100 * 1.01**109, rel=1e-6)
    assert found.exhaustion.median == pytest.approx(
        END + (math.log(3) / math.log(1.01) - 79) * DAY, abs=0.1 * DAY
    )


def test_a_calendar_of_purges_is_carried_on() -> None:
    found = forecast(TIMES, 100 + 10 * (DAYS % 8), limit=175.0)
    assert found.model is Model.PURGE_CYCLE
    assert [level.median for level in found.levels] == [
        pytest.approx(100 + 10 * ((79 + ahead) % 8)) for ahead in HORIZONS
    ]
    assert found.exhaustion.outlook is Outlook.NOT_BEFORE
    within = forecast(TIMES, 100 + 10 * (DAYS % 8), limit=168.0).exhaustion
    assert within.outlook is Outlook.REACHED  # the newest day is the last before a purge


def test_a_purge_each_week_is_a_part_of_the_week() -> None:
    found = forecast(TIMES, 100 + 10 * (DAYS % 7), limit=170.0)
    assert [level.median for level in found.levels] == [
        pytest.approx(100 + 10 * ((79 + ahead) % 7), abs=1) for ahead in HORIZONS
    ]
    assert found.exhaustion.outlook is Outlook.NOT_BEFORE


def test_a_growth_that_stopped_is_not_drawn_on() -> None:
    stopped = 1000 + 10 * np.minimum(DAYS, 50)
    assert forecast(TIMES, stopped, limit=1600.0).exhaustion.outlook is Outlook.NOT_BEFORE


def test_a_growth_that_changed_is_drawn_on_at_its_new_pace() -> None:
    faster = LINE + 20 * np.maximum(DAYS - 66, 0)
    assert forecast(TIMES, faster).levels[1].median == pytest.approx(faster[-1] + 30 * 30)


def test_a_single_point_at_the_limit_has_reached_it() -> None:
    times, values = noisy(1)
    values[-1] = 5 * values[-2]
    assert forecast(times, values, 4 * values[-2]).exhaustion.outlook is Outlook.REACHED


def test_the_errors_of_growth_by_a_share_are_shares() -> None:
    random = np.random.default_rng(4)
    found = forecast(TIMES, 100 * np.exp(np.cumsum(random.normal(0.02, 0.002, 80))))
    assert found.model is Model.LOGARITHMIC
    near, far = (math.log(level.high / level.median) for level in found.levels[:2])
    assert far / near == pytest.approx((30 / 7) ** 0.8)


def test_a_purge_cycle_stays_within_its_turns() -> None:
    random = np.random.default_rng(5)
    saw = 100 + 10 * (DAYS % 9) * random.uniform(0.8, 1.2, 80)
    found = forecast(TIMES, saw)
    assert found.model is Model.PURGE_CYCLE
    for low, median, high in levels(found):
        assert saw.min() <= low
        assert high <= max(saw.max(), median)


def test_accuracy_compares_with_the_best_window_of_predict_linear() -> None:
    times, values = noisy(2)
    points = points_of(times, values)
    days = days_of(points)
    origins = backtest(days, history_of(days.closes, days.highs)).origins
    errors = predict_linear_errors(points, days, origins)
    accuracy = forecast(times, values).accuracy
    assert accuracy is not None
    assert len(set(errors.values())) == 3
    assert accuracy.predict_linear_days == min(errors, key=lambda window: errors[window])
    assert accuracy.predict_linear_error == pytest.approx(
        min(errors.values()) * 30**0.8 / values[-1]
    )


def test_the_top_of_a_usual_day_counts_and_not_only_its_end() -> None:
    hour = np.arange(60 * 24)
    values = 100 + 20 * np.sin((hour + 1) / 24 * 2 * np.pi)  # ends each day at its mean
    exhaustion = forecast(START + hour * HOUR, values, limit=115.0).exhaustion
    assert exhaustion.outlook is Outlook.ACT
    assert exhaustion.latest is not None
    assert exhaustion.latest <= START + hour[-1] * HOUR + DAY


def test_highs_of_daily_points_count_as_tops() -> None:
    flat = np.full(80, 100.0)
    assert forecast(TIMES, flat, 110.0).exhaustion.outlook is Outlook.NOT_BEFORE
    assert forecast(TIMES, flat, 110.0, highs=flat + 15).exhaustion.outlook is Outlook.ACT


# --- purges, steps, weeks, gaps, nonsense ---------------------------------------------------------


@pytest.mark.parametrize(
    "bent",
    [
        LINE + np.where(DAYS >= 60, -900, 900),  # a purge
        LINE + np.where(DAYS >= 40, 5000, 0),  # a bulk load
        np.where((DAYS == 45) | (DAYS == 70), 0, LINE),  # restarts
        np.where(DAYS == 66, 9000, LINE),  # a spike
    ],
    ids=["purge", "load", "restarts", "spike"],
)
def test_what_happens_once_does_not_bend_the_slope(bent: Floats) -> None:
    found = forecast(TIMES, bent)
    assert found.model is Model.LINEAR
    assert found.levels[1].median - bent[-1] == pytest.approx(300)


def test_weekends_are_drawn_as_weekends() -> None:
    busy = np.cumsum(np.where(DAYS % 7 >= 5, 0.0, 10.0)) + 100
    found = forecast(TIMES, busy)
    whole = busy[-1] + np.cumsum(np.where(np.arange(80, 170) % 7 >= 5, 0.0, 10.0))
    assert found.levels[0].median == pytest.approx(whole[6])
    assert found.levels[1].median == pytest.approx(whole[29])


def test_missing_days_change_nothing_on_a_line() -> None:
    kept = ~(((DAYS > 20) & (DAYS < 27)) | (DAYS == 60) | (DAYS == 74))
    found = forecast(TIMES[kept], LINE[kept], limit=2000.0)
    assert found.observed_days == int(kept.sum())
    assert found.exhaustion.median == pytest.approx(END + 21 * DAY)


def test_invalid_values_are_dropped_and_counted() -> None:
    spoilt = LINE.copy()
    spoilt[[10, 30, 50]] = math.nan, -5.0, float(2**64 - 1)
    found = forecast(TIMES, spoilt, limit=2000.0)
    assert found.dropped == Dropped(not_a_number=1, negative=1, absurd=1)
    assert found.exhaustion.median == pytest.approx(END + 21 * DAY)


# --- unknown, with the reason ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kept", "now", "reason"),
    [
        (DAYS < 0, None, "no points"),
        (DAYS < LEAST_DAYS - 1, None, "23 days with points, 24 are needed"),
        ((DAYS < 50) | (DAYS > 75), None, "points on only 4 of the last 28 days"),
        (DAYS < 80, END + 9 * DAY, "the newest point is 9 days old"),
    ],
)
def test_too_little_data_is_unknown_with_a_reason(
    kept: NDArray[np.bool_], now: float | None, reason: str
) -> None:
    found = forecast(TIMES[kept], LINE[kept], limit=2000.0, now=now)
    assert found.exhaustion.outlook is Outlook.UNKNOWN
    assert found.exhaustion.reason == found.reason == reason
    assert (found.levels, found.model, found.accuracy) == ((), None, None)


@pytest.mark.parametrize("kept", [DAYS == 0, DAYS < LEAST_DAYS - 1, (DAYS < 50) | (DAYS > 75)])
def test_a_limit_is_reached_whatever_the_history(kept: NDArray[np.bool_]) -> None:
    newest = float(LINE[kept][-1])
    found = forecast(TIMES[kept], LINE[kept], limit=newest)
    assert found.exhaustion == Exhaustion(Outlook.REACHED, *[found.as_of] * 3)
    assert (found.model, found.level) == (None, newest)
    above = forecast(TIMES[kept], LINE[kept], limit=newest * 1.01)
    assert above.exhaustion.outlook is Outlook.UNKNOWN


def test_an_old_level_at_its_limit_is_unknown() -> None:
    found = forecast(TIMES[:5], LINE[:5], limit=1.0, now=float(TIMES[4]) + 9 * DAY)
    assert found.exhaustion.outlook is Outlook.UNKNOWN


@pytest.mark.parametrize(
    ("limit", "reason"),
    [(None, "no limit"), (0.0, "invalid limit 0"), (-1.0, "invalid limit -1"),
     (math.nan, "invalid limit nan"), (math.inf, "invalid limit inf")],
)  # fmt: skip
def test_without_a_limit_there_are_levels_and_no_date(limit: float | None, reason: str) -> None:
    found = forecast(TIMES, LINE, limit)
    assert found.exhaustion.outlook is Outlook.UNKNOWN
    assert found.exhaustion.reason == reason
    assert len(found.levels) == len(HORIZONS)


def test_as_many_days_as_are_needed_are_enough() -> None:
    found = forecast(TIMES[:LEAST_DAYS], LINE[:LEAST_DAYS], limit=1500.0)
    assert found.accuracy is not None
    assert found.accuracy.origins == 2
    assert found.exhaustion.outlook is Outlook.ACT


# --- whatever the series --------------------------------------------------------------------------

SHAPES: tuple[Callable[[Floats], Floats], ...] = (
    lambda values: values,
    lambda values: values[0] + np.abs(values - values.mean()),
    lambda values: values.max() - values + 1,
    lambda values: values[0] + values % (values.max() / 6),
)


@settings(max_examples=examples(12), deadline=None)
@given(seed=st.integers(0, 10_000), power=st.integers(-6, 30), shape=st.sampled_from(SHAPES))
def test_another_unit_gives_the_same_forecast_in_that_unit(
    seed: int, power: int, shape: Callable[[Floats], Floats]
) -> None:
    times, values = noisy(seed)
    values, limit, unit = shape(values), float(shape(values).max()) * 1.1, 2.0**power
    plain, scaled = forecast(times, values, limit), forecast(times, values * unit, limit * unit)
    assert scaled.model == plain.model
    assert np.array(levels(scaled)) == pytest.approx(np.array(levels(plain)) * unit, rel=1e-6)
    assert scaled.exhaustion.outlook == plain.exhaustion.outlook
    assert scaled.exhaustion.median == pytest.approx(plain.exhaustion.median, abs=60)


@settings(max_examples=examples(12), deadline=None)
@given(seed=st.integers(0, 10_000), hours=st.integers(-5000, 5000))
def test_the_same_series_at_another_time_gives_the_same_forecast_then(
    seed: int, hours: int
) -> None:
    times, values = noisy(seed)
    limit = float(values.max()) * 1.1
    plain, moved = forecast(times, values, limit), forecast(times + hours * HOUR, values, limit)
    assert levels(moved) == levels(plain)
    assert plain.exhaustion.median is not None
    assert moved.exhaustion.median == pytest.approx(plain.exhaustion.median + hours * HOUR)


@settings(max_examples=examples(20), deadline=None)
@given(seed=st.integers(0, 10_000), factor=st.floats(1.01, 2), shape=st.sampled_from(SHAPES))
def test_low_middle_and_high_and_their_dates_are_in_order(
    seed: int, factor: float, shape: Callable[[Floats], Floats]
) -> None:
    times, values = noisy(seed)
    found = forecast(times, shape(values), float(shape(values).max()) * factor)
    for low, median, high in levels(found):
        assert 0 <= low <= median <= high
    dates = (found.exhaustion.earliest, found.exhaustion.median, found.exhaustion.latest)
    known = [date for date in dates if date is not None]
    assert known == sorted(known)
    assert all(date is None for date in dates[len(known) :])
    assert (found.exhaustion.not_before is None) == (found.exhaustion.median is not None)


@pytest.mark.parametrize("seed", range(5))
def test_growth_is_less_certain_the_farther_ahead(seed: int) -> None:
    widths = [high - low for low, _, high in levels(forecast(*noisy(seed)))]
    assert 0 < widths[0] < widths[1] < widths[2]


@pytest.mark.parametrize("seed", range(3))
def test_a_lower_limit_is_never_reached_later(seed: int) -> None:
    times, values = noisy(seed)
    dates = [
        forecast(times, values, float(values[-1]) * factor).exhaustion.median
        for factor in (1.05, 1.1, 1.2, 1.4)
    ]
    assert None not in dates[:2]
    known = [date for date in dates if date is not None]
    assert known == sorted(known)


@settings(max_examples=examples(25), deadline=None)
@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from([0.0, 1e18, 1e-300]),
             min_size=0, max_size=60)
)  # fmt: skip
def test_no_values_whatever_make_it_fail(values: list[float]) -> None:
    found = forecast(START + np.arange(len(values)) * DAY, values, limit=1e6)
    assert found.observed_days + found.dropped.total == len(values)
    assert bool(found.levels) == (found.reason == "")
    assert all(math.isfinite(level) for row in levels(found) for level in row)
