"""Statistics of chunks against plain Python."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.rollups.oracle import quantile

from archive.tables import chunk_statistics as kernel
from archive.tables.chunk_statistics import chunk_statistics, quantiles, rise, with_previous_values

NUMBERS = st.one_of(
    st.integers(-1000, 2**40).map(float),
    st.floats(-1e9, 1e9),
    st.sampled_from([math.nan, math.inf, 0.0, -0.0]),
)
CHUNKS = st.lists(st.lists(NUMBERS, max_size=7), max_size=12)


def flat(chunks: list[list[float]]) -> tuple[np.ndarray, np.ndarray]:
    values = np.array([value for chunk in chunks for value in chunk], np.float64)
    return values, np.array([len(chunk) for chunk in chunks], np.int64)


def same(ours: float, theirs: float, size: float = 0.0) -> bool:
    if math.isnan(theirs) or math.isinf(theirs):
        return repr(float(ours)) == repr(float(theirs))
    return abs(ours - theirs) <= 1e-12 * size


@settings(deadline=None)
@given(CHUNKS)
def test_each_chunk_has_the_statistics_of_its_own_numbers(chunks: list[list[float]]) -> None:
    found = chunk_statistics(*flat(chunks))
    for place, chunk in enumerate(chunks):
        numbers = [value for value in chunk if not math.isnan(value)]
        assert found.count[place] == len(numbers)
        if not numbers:
            assert math.isnan(found.last[place])
            continue
        steps = [b if b < a else b - a for a, b in pairwise(numbers)]
        size = sum(abs(number) for number in numbers if math.isfinite(number)) * 2
        assert found.min[place] == min(numbers)
        assert found.max[place] == max(numbers)
        assert found.first[place] == numbers[0]
        assert found.last[place] == numbers[-1]
        assert same(found.sum[place], sum(numbers), size)
        assert same(found.increase[place], sum(steps), size)
        assert found.resets[place] == sum(b < a for a, b in pairwise(numbers))
        assert same(found.p95[place], quantile(sorted(numbers), 0.95), size)


@settings(deadline=None)
@given(CHUNKS)
def test_statistics_that_are_not_selected_are_nan_and_change_no_others(
    chunks: list[list[float]],
) -> None:
    full = chunk_statistics(*flat(chunks))
    none = np.zeros(len(chunks), bool)
    less = chunk_statistics(*flat(chunks), rising=none, p95=none)
    for name in ("count", "min", "max", "sum", "first", "last"):
        np.testing.assert_array_equal(getattr(less, name), getattr(full, name))
    assert np.isnan(less.p95).all()
    assert np.isnan(less.increase).all()
    assert not less.resets.any()


@settings(deadline=None)
@given(CHUNKS, st.integers(1, 9))
def test_the_size_of_a_block_changes_nothing(chunks: list[list[float]], size: int) -> None:
    whole = chunk_statistics(*flat(chunks))
    selected = np.arange(len(chunks)) % 2 == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "_BLOCK", size)
        cut = chunk_statistics(*flat(chunks), rising=selected, p95=selected)
    for name in ("count", "min", "max", "first", "last"):
        np.testing.assert_array_equal(getattr(cut, name), getattr(whole, name))
    np.testing.assert_array_equal(cut.p95[selected], whole.p95[selected])
    np.testing.assert_array_equal(cut.resets[selected], whole.resets[selected])


@settings(deadline=None)
@given(CHUNKS, st.sampled_from([0.0, 0.5, 0.95, 0.99, 1.0]))
def test_a_quantile_lies_between_the_neighbours_of_its_rank(
    chunks: list[list[float]], q: float
) -> None:
    (found,) = quantiles(*flat(chunks), [q])
    for ours, chunk in zip(found, chunks, strict=True):
        numbers = sorted(value for value in chunk if not math.isnan(value))
        assert math.isnan(ours) if not numbers else same(ours, quantile(numbers, q), 1e10)


def test_whole_numbers_rise_exactly() -> None:
    """2^53 - 1 in steps that float64 could lose if they were added in another way."""
    chunk = [0.0, 1.0, 2.0**52, 2.0**53 - 1]
    found = chunk_statistics(*flat([chunk]))
    assert found.increase[0] == 2.0**53 - 1


def test_a_counter_that_fell_began_again_at_zero() -> None:
    found = chunk_statistics(*flat([[10.0, 15.0, 3.0, 4.0]]))
    assert (found.increase[0], found.resets[0]) == (9.0, 1)


@settings(deadline=None)
@given(CHUNKS, st.lists(st.just(math.nan) | st.floats(-1e9, 1e9), min_size=12, max_size=12))
def test_the_step_into_a_chunk_is_added_where_the_value_before_is_known(
    chunks: list[list[float]], before: list[float]
) -> None:
    previous = np.array(before[: len(chunks)])
    inside = chunk_statistics(*flat(chunks))
    found = with_previous_values(inside, previous)
    steps, fell = rise(previous, inside.first)
    known = ~np.isnan(previous) & np.isfinite(inside.first)
    np.testing.assert_array_equal(found.increase[known], (inside.increase + steps)[known])
    np.testing.assert_array_equal(found.resets[known], (inside.resets + fell)[known])
    np.testing.assert_array_equal(found.resets[~known & np.isnan(previous)],
                                  inside.resets[~known & np.isnan(previous)])  # fmt: skip
