"""Aggregation of hours to days from any parts, and deduplication of hours."""

import itertools
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_rollups.rollup.deduplication import deduplicated, row_per_hour, with_steps_between_hours
from spark_rollups.rollup.rows import DayRows, HourRows, day_parts, whole_days

HOUR = 3_600_000


def hour_rows(rows: list[tuple[int, int, float, float]]) -> HourRows:
    """Identity, hour, first and last number; the rest follows from them."""
    rank, hour, first, last = (np.array([row[index] for row in rows]) for index in range(4))
    count = np.full(len(rows), 2, np.int64)
    return HourRows(
        rank.astype(np.int32), hour.astype(np.int64) * HOUR, count, np.minimum(first, last),
        np.maximum(first, last), first + last, first, last, np.maximum(first, last),
        np.where(last < first, last, last - first), (last < first).astype(np.int64),
    )  # fmt: skip


ROWS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.integers(0, 23),
        st.integers(0, 100).map(float),
        st.integers(0, 100).map(float),
    ),
    min_size=1,
    max_size=40,
    unique_by=lambda row: row[:2],
)


def as_rows(days: DayRows) -> list[tuple[float, ...]]:
    return [tuple(float(getattr(days, name)[index]) for name in DayRows.__slots__)
            for index in range(len(days))]  # fmt: skip


@settings(deadline=None)
@given(ROWS, st.lists(st.integers(0, 40), max_size=4))
def test_a_day_is_the_same_in_whatever_parts_it_comes(
    rows: list[tuple[int, int, float, float]], cuts: list[int]
) -> None:
    places = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
    parts = [day_parts(hour_rows(rows[first:last])) for first, last in itertools.pairwise(places)]
    whole = whole_days([day_parts(hour_rows(sorted(rows)))])
    assert as_rows(whole_days(parts)) == as_rows(whole)
    assert whole.rank.tolist() == sorted({row[0] for row in rows})


@settings(deadline=None)
@given(ROWS)
def test_a_day_has_the_sums_and_ends_of_its_hours(
    rows: list[tuple[int, int, float, float]],
) -> None:
    days = whole_days([day_parts(hour_rows(rows))])
    for index, rank in enumerate(days.rank):
        mine = sorted(row for row in rows if row[0] == rank)
        assert days.hours[index] == len(mine)
        assert days.first[index] == mine[0][2]
        assert days.last[index] == mine[-1][3]
        assert days.first_hour[index] == mine[0][1] * HOUR
        assert days.last_hour[index] == mine[-1][1] * HOUR
        assert days.sum[index] == sum(first + last for _, _, first, last in mine)
        assert days.increase[index] == sum(b if b < a else b - a for _, _, a, b in mine)


def test_no_rows_are_no_days() -> None:
    assert len(whole_days([])) == 0
    assert len(whole_days([day_parts(HourRows.joined(()))])) == 0


def test_of_several_series_the_one_with_most_samples_counts_and_the_smallest_mark_breaks_ties() -> (
    None
):
    rank = np.array([1, 1, 1, 0, 1])
    hour = np.array([0, 0, 0, 0, HOUR])
    count = np.array([5, 9, 9, 1, 2])
    order = np.array([0, 4, 2, 1, 3])
    assert row_per_hour(rank, hour, count, order).tolist() == [3, 2, 4]


def test_extremes_of_an_hour_are_those_of_all_its_series_and_the_rest_is_of_one() -> None:
    """A pod saw 1 to 5, the next one 3 to 90; another hour and another consumer are their own."""
    rows = hour_rows([(1, 7, 3.0, 90.0), (0, 7, 8.0, 8.5), (1, 7, 1.0, 5.0), (1, 8, 4.0, 6.0)])
    rows = replace(rows, count=np.array([20, 60, 90, 110]))
    found = deduplicated(rows, np.array([0, 1, 2, 3]))
    assert found.rank.tolist() == [0, 1, 1]
    assert found.min.tolist() == [8.0, 1.0, 4.0]
    assert found.max.tolist() == [8.5, 90.0, 6.0]
    assert found.count.tolist() == [60, 90, 110]
    assert found.sum.tolist() == [16.5, 6.0, 10.0]
    assert found.last.tolist() == [8.5, 5.0, 6.0]


def test_two_exporters_that_see_the_same_are_as_one() -> None:
    one = hour_rows([(0, 7, 3.0, 9.0), (0, 8, 4.0, 5.0)])
    both = deduplicated(HourRows.joined((one, one)), np.array([0, 0, 1, 1]))
    assert as_rows(day_parts(both)) == as_rows(day_parts(one))


def test_the_step_into_an_hour_comes_from_the_newest_number_within_a_day() -> None:
    rows = hour_rows(
        [
            (0, 24, 10.0, 20.0),
            (0, 26, 25.0, 30.0),
            (1, 24, 5.0, 6.0),
            (2, 30, 9.0, 9.0),
            (3, 30, 9.0, 9.0),
        ]
    )
    earlier = (
        np.array([7, 8, 9, 10]),
        np.array([23, 23, 5, 6]) * HOUR,
        np.array([4.0, 50.0, 1.0, 1.0]),
    )
    found, series = with_steps_between_hours(rows, np.array([7, 7, 8, 9, 10]), earlier)
    assert series.tolist() == [7, 7, 8, 9, 10]
    # 4 to 10 and on; 20 to 25; from 50 it fell to 5; 25 hours are too far away, 24 are not.
    assert found.increase.tolist() == [16.0, 10.0, 6.0, 0.0, 8.0]
    assert found.resets.tolist() == [0, 0, 1, 0, 0]


def test_gauges_have_no_steps() -> None:
    rows = hour_rows([(0, 24, 10.0, 20.0), (0, 25, 5.0, 6.0)])
    gauges = HourRows(*(getattr(rows, name) if name != "increase" else np.full(2, np.nan)
                        for name in ("rank", *HourRows.__slots__)))  # fmt: skip
    found, _ = with_steps_between_hours(
        gauges, np.array([7, 7]), (np.array([]), np.array([]), np.array([]))
    )
    assert np.isnan(found.increase).all()
    assert found.resets.tolist() == [0, 0]
