"""How long a state held, against plain Python."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_rollups.rollup.state_durations import state_seconds

SAMPLES = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.integers(0, 1_000_000),
        st.sampled_from([0.0, 1.0, 7.0, math.nan]),
    ),
    max_size=30,
    unique_by=lambda each: each[:2],
).map(sorted)


@settings(deadline=None)
@given(SAMPLES)
def test_a_state_holds_until_the_next_sample_and_at_most_five_minutes(
    samples: list[tuple[int, int, float]],
) -> None:
    rank, times, values = (np.array([row[index] for row in samples]) for index in range(3))
    found = state_seconds(
        rank.astype(np.int32), times.astype(np.int64), values.astype(float), 10**6
    )
    wanted: dict[tuple[int, float], list[int]] = {}
    for index, (ranks, time, value) in enumerate(samples):
        later = [t for w, t, _ in samples[index + 1 :] if w == ranks]
        if not math.isnan(value):
            held = min((later or [10**6])[0] - time, 300_000)
            wanted.setdefault((ranks, value), []).append(held)
    expected = {
        (int(w), float(v)): (int(n), float(s))
        for w, v, n, s in zip(
            found.identity, found.value, found.samples, found.seconds, strict=True
        )
    }
    assert expected == {key: (len(held), sum(held) / 1000) for key, held in wanted.items()}


@pytest.mark.parametrize("rows", [1, 3])
def test_minus_zero_and_zero_are_one_state(rows: int) -> None:
    values = np.array([0.0, -0.0, 0.0][:rows])
    rank, times = np.zeros(rows, np.int32), np.arange(rows, dtype=np.int64) * 1000
    found = state_seconds(rank, times, values, 86_400_000)
    assert found.value.tolist() == [0.0]
    assert found.samples.tolist() == [rows]
