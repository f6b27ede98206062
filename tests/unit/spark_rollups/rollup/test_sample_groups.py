"""The fold of a group of chunks, against plain Python on random series."""

import itertools
import math
from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.rollups.oracle import quantile

from exporter import catalog
from spark_rollups.metric_selection import CONDITIONS
from spark_rollups.rollup.sample_groups import quantile_rows, state_rows

DAY = 20_724
HOUR = 3_600_000
VERDICT = catalog.CONSUMER_VERDICT.name
(CONDITION,) = (name for name in CONDITIONS if "consumer" in name)
VALUE = st.sampled_from([0.0, 1.0, 2.5, 7.0, math.nan])
# An identity, the place of its series, an hour, and what the series has there: times, values, marks.
CHUNK = st.tuples(
    st.integers(0, 3),
    st.integers(1, 2),
    st.integers(0, 2),
    st.lists(
        st.tuples(st.integers(0, HOUR - 1), VALUE), max_size=5, unique_by=lambda each: each[0]
    ),
    st.lists(st.integers(0, HOUR - 1), max_size=2, unique=True),
)
CHUNKS = st.lists(CHUNK, min_size=1, max_size=12, unique_by=lambda each: each[:3])


def table(chunks: list[Any], metric: str) -> pa.Table:
    """As Spark gives a group: the columns of `samples` with the keys of the dimension."""
    rows: list[dict[str, Any]] = []
    for identity, place, hour, samples, marks in chunks:
        ordered = sorted(samples)
        rows.append(
            {
                "series": identity * 10 + place, "hour": (DAY * 24 + hour) * HOUR * 1000,
                "scale": None, "iv": None, "fv": [value for _, value in ordered],
                "ts": [time for time, _ in ordered], "stale": sorted(marks) or None,
                "day": DAY, "metric": metric, "identity": identity, "place": place,
            }
        )  # fmt: skip
    return pa.Table.from_pylist(
        rows,
        pa.schema(
            [("series", pa.int32()), ("hour", pa.timestamp("us", "UTC")), ("scale", pa.int8()),
             ("iv", pa.list_(pa.int64())), ("fv", pa.list_(pa.float64())),
             ("ts", pa.list_(pa.int32())), ("stale", pa.list_(pa.int32())), ("day", pa.date32()),
             ("metric", pa.string()), ("identity", pa.int32()), ("place", pa.int32())]
        ),
    )  # fmt: skip


def chosen(chunks: list[Any]) -> dict[int, list[Any]]:
    """Of each identity and hour the chunk with most numbers, then the first place, in time."""
    best: dict[tuple[int, int], Any] = {}
    for chunk in chunks:
        identity, place, hour, samples, _ = chunk
        rank = (-sum(not math.isnan(value) for _, value in samples), place)
        if (identity, hour) not in best or rank < best[identity, hour][0]:
            best[identity, hour] = rank, chunk
    found: dict[int, list[Any]] = defaultdict(list)
    for (identity, _), (_, chunk) in sorted(best.items()):
        found[identity].append(chunk)
    return found


@settings(deadline=None)
@given(CHUNKS)
def test_quantiles_are_of_all_numbers_of_the_chosen_series(chunks: list[Any]) -> None:
    wanted = {}
    for identity, mine in chosen(chunks).items():
        numbers = sorted(v for chunk in mine for _, v in chunk[3] if not math.isnan(v))
        if numbers:
            wanted[identity] = (len(numbers), *(quantile(numbers, q) for q in (0.5, 0.95, 0.99)))
    rows = quantile_rows(table(chunks, "streamgauge_consumer_lag_seconds")).to_pylist()
    assert [row["identity"] for row in rows] == sorted(wanted)
    for row in rows:
        count, *quantiles = wanted[row["identity"]]
        assert row["count"] == count
        assert [row[name] for name in ("p50", "p95", "p99")] == pytest.approx(quantiles, rel=1e-12)


@pytest.mark.parametrize("metric", [VERDICT, CONDITION])
@settings(deadline=None)
@given(chunks=CHUNKS)
def test_a_state_lasts_to_the_next_sample_or_marker_and_a_condition_is_one(
    metric: str, chunks: list[Any]
) -> None:
    wanted: dict[tuple[int, float], list[float]] = defaultdict(list)
    for identity, mine in chosen(chunks).items():
        events: list[tuple[int, float]] = []
        for _, _, hour, samples, marks in mine:
            start = (DAY * 24 + hour) * HOUR
            # A marker and a sample of one moment do not occur in a series.
            ends = set(marks) - {time for time, _ in samples}
            events += sorted(
                [(start + t, v) for t, v in samples] + [(start + t, math.nan) for t in ends]
            )
        events.append(((DAY + 1) * 24 * HOUR, math.nan))
        for (time, value), (end, _) in itertools.pairwise(events):
            if not math.isnan(value):
                state = 1.0 if metric == CONDITION else value
                wanted[identity, state].append(min(end - time, 300_000) / 1000)
    clean = [
        (*chunk[:4], sorted(set(chunk[4]) - {time for time, _ in chunk[3]})) for chunk in chunks
    ]
    rows = state_rows(table(clean, metric)).to_pylist()
    found = {(row["identity"], row["value"]): (row["samples"], row["seconds"]) for row in rows}
    assert len(found) == len(rows)
    assert found.keys() == wanted.keys()
    for key, (samples, seconds) in found.items():
        assert samples == len(wanted[key])
        assert np.isclose(seconds, sum(wanted[key]), rtol=1e-12)
