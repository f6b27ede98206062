"""The nine hourly statistics against plain Python, value by value."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archive.tables.chunk_statistics import ChunkStatistics
from archive.tables.hourly_statistics import statistics

# A slow machine is no fault of the code.
unhurried = settings(deadline=None)

NAN = math.nan
numbers = st.floats(-1e9, 1e9) | st.integers(0, 1000).map(float) | st.just(NAN)
chunk_lists = st.lists(st.lists(numbers, max_size=12), max_size=6)
befores = st.lists(st.just(NAN) | st.floats(-1e9, 1e9), min_size=6, max_size=6)


def of(chunks: Sequence[Sequence[float]], before: Sequence[float]) -> ChunkStatistics:
    values = np.array([value for chunk in chunks for value in chunk], np.float64)
    counts = np.array([len(chunk) for chunk in chunks], np.int64)
    return statistics(values, counts, np.array(before[: len(chunks)], np.float64))


def plain_increase(values: Sequence[float], before: float) -> tuple[float, int]:
    steps, resets = 0.0, 0
    for previous, value in zip([before, *values], values, strict=False):
        if math.isnan(previous):
            continue
        steps += value if value < previous else value - previous
        resets += value < previous
    return steps, resets


def plain_p95(values: Sequence[float]) -> float:
    ordered = sorted(values)
    rank = 0.95 * (len(ordered) - 1)
    lower = math.floor(rank)
    upper = min(lower + 1, len(ordered) - 1)
    return ordered[lower] * (1 - (rank - lower)) + ordered[upper] * (rank - lower)


@unhurried
@given(chunk_lists, befores)
def test_the_statistics_are_those_of_plain_python(
    chunks: list[list[float]], before: list[float]
) -> None:
    found = of(chunks, before)
    for place, chunk in enumerate(chunks):
        values = [value for value in chunk if not math.isnan(value)]
        assert found.count[place] == len(values)
        if not values:
            continue
        assert found.min[place] == min(values)
        assert found.max[place] == max(values)
        assert found.first[place] == values[0]
        assert found.last[place] == values[-1]
        near = 1e-12 * sum(map(abs, values)) + 1e-300
        assert found.sum[place] == pytest.approx(math.fsum(values), abs=near)
        assert found.p95[place] == pytest.approx(plain_p95(values), rel=1e-12, abs=1e-300)
        increase, resets = plain_increase(values, before[place])
        size = sum(map(abs, values)) + abs(0.0 if math.isnan(before[place]) else before[place])
        assert found.increase[place] == pytest.approx(increase, abs=1e-12 * size + 1e-300)
        assert found.resets[place] == resets


@unhurried
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=40), st.integers(1, 39))
def test_increases_of_two_hours_add_up_to_that_of_both(steps: list[int], split: int) -> None:
    """The step from one hour into the next is counted once, in the later one."""
    values = [float(step) for step in steps]
    whole = of([values], [NAN])
    parts = [values[:split], values[split:]] if split < len(values) else [values]
    hours = of(parts, [NAN, values[split - 1] if split < len(values) else NAN])
    assert sum(hours.increase) == whole.increase[0]
    assert sum(hours.resets) == whole.resets[0]


@unhurried
@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=20), st.floats(0, 1e12))
def test_a_counter_never_decreases(values: list[float], before: float) -> None:
    assert of([values], [before]).increase[0] >= 0


def test_a_reset_counts_the_value_it_came_back_with() -> None:
    found = of([[100.0, 130.0, 7.0, 9.0]], [90.0])
    assert found.increase.tolist() == [10 + 30 + 7 + 2]
    assert found.resets.tolist() == [1]


def test_a_reset_between_two_hours_belongs_to_the_later_one() -> None:
    found = of([[5.0, 6.0]], [1000.0])
    assert found.increase.tolist() == [6.0]
    assert found.resets.tolist() == [1]


def test_infinities_do_not_disturb_their_neighbours() -> None:
    found = of([[math.inf, -math.inf], [1.0, 2.0], [math.inf, math.inf]], [NAN] * 3)
    assert math.isnan(found.sum[0])
    assert (found.min[0], found.max[0]) == (-math.inf, math.inf)
    assert (found.sum[1], found.increase[1]) == (3.0, 1.0)
    assert found.p95[2] == math.inf


def test_a_chunk_without_a_number_has_count_zero_and_moves_no_other() -> None:
    found = of([[], [NAN], [4.0]], [1.0, 1.0, 1.0])
    assert found.count.tolist() == [0, 0, 1]
    assert found.increase[2] == 3.0
    assert of([[NAN]], [NAN]).count.tolist() == [0]
