"""Series over many days: each is named once, and the days hold numbers alone."""

from typing import Any

import numpy as np
import pyarrow as pa

from spark_rollups.forecasting.series_points import SeriesCollector, series_names
from spark_rollups.rollup.tables.schemas import LABELS, SUBJECT_LABELS


def identities(*streams: str, tier: str = "") -> Any:
    blank = pa.array([""] * len(streams), pa.string())
    pairs = [("tier", tier)] if tier else []
    return pa.table(
        {
            **dict.fromkeys(SUBJECT_LABELS, blank),
            "metric": pa.array(["m"] * len(streams), pa.string()),
            "stream": pa.array(streams, pa.string()),
            "labels": pa.array([pairs] * len(streams), LABELS),
        }
    )


def test_a_series_is_named_once_however_many_days_it_has() -> None:
    found = SeriesCollector(("time",))
    for day in range(9):
        time = np.full(2, float(day))
        found.add(identities("always", f"on day {day}", tier="R1"), time, {"time": time})
    assert sum(part.num_rows for part in found._identities) == len(found._known) == 10
    assert {codes.dtype for codes in found._codes} == {np.dtype(np.int32)}
    series = found.series()
    assert series is not None
    streams = series.identities.column("stream").to_pylist()
    points = dict(zip(streams, series.lists("time").to_pylist(), strict=True))
    assert points["always"] == [float(day) for day in range(9)]
    assert points["on day 4"] == [4.0]


def test_days_without_rows_leave_the_others_as_they_are() -> None:
    found = SeriesCollector(("time",))
    for streams in ((), ("a",), (), ("b", "a")):
        time = np.arange(float(len(streams)))
        found.add(identities(*streams), time, {"time": time})
    series = found.series()
    assert series is not None
    assert series.identities.column("stream").to_pylist() == ["a", "b"]
    assert series.lists("time").to_pylist() == [[0.0, 1.0], [0.0]]


def test_names_together_may_exceed_32_bit_offsets() -> None:
    assert series_names(identities("s", tier="R1")).type == pa.large_string()
