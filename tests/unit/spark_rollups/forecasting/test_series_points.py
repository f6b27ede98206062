"""Rows to series, and limits to levels: all labels identify a series."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples

from exporter import catalog
from spark_rollups.forecasting.limits import CurrentLimits, current_limits
from spark_rollups.forecasting.series_points import (
    Series,
    SeriesCollector,
    label,
    label_names,
    series_codes,
    series_names,
)
from spark_rollups.rollup.tables.schemas import LABELS, SUBJECT_LABELS

Row = tuple[str, str, dict[str, str], int]  # metric, stream, other labels, time
NAMES = ("a", "b", "")


def identities(rows: list[Row]) -> Any:
    blank = pa.array([""] * len(rows), pa.string())
    return pa.table(
        {
            **dict.fromkeys(SUBJECT_LABELS, blank),
            "metric": pa.array([metric for metric, *_ in rows], pa.string()),
            "stream": pa.array([stream for _, stream, *_ in rows], pa.string()),
            "labels": pa.array([list(labels.items()) for *_, labels, _ in rows], LABELS),
        }
    )


def collected(*days: list[Row]) -> SeriesCollector:
    """Each row's value is unlike any other's."""
    found, start = SeriesCollector(("time", "value")), 0
    for rows in days:
        time = np.array([float(at) for *_, at in rows])
        values = np.arange(start, start + len(rows), dtype=float)
        found.add(identities(rows), time, {"time": time, "value": values})
        start += len(rows)
    return found


ROWS = st.lists(
    st.tuples(
        st.sampled_from(NAMES),
        st.sampled_from(NAMES),
        st.dictionaries(st.sampled_from(("tier", "x")), st.sampled_from(("1", "2")), max_size=2),
        st.integers(0, 5),
    ),
    max_size=40,
)


@settings(deadline=None, max_examples=examples(60))
@given(ROWS, ROWS)
def test_series_are_what_a_dictionary_by_all_labels_would_hold(
    today: list[Row], tomorrow: list[Row]
) -> None:
    wanted: dict[Any, list[tuple[int, int, float]]] = {}
    for start, (metric, stream, labels, at) in enumerate([*today, *tomorrow]):
        key = metric, stream, tuple(sorted(labels.items()))
        wanted.setdefault(key, []).append((start >= len(today), at, float(start)))
    found = collected(today, tomorrow).series()
    if found is None:
        assert not wanted
        return
    keys = keys_of(found)
    assert len(keys) == len(found) == len(wanted)
    lists = found.lists("value").to_pylist()
    in_order = {key: [value for *_, value in sorted(points)] for key, points in wanted.items()}
    assert dict(zip(keys, lists, strict=True)) == in_order
    assert found.newest("value").tolist() == [values[-1] for values in lists]


@settings(deadline=None, max_examples=examples(40))
@given(st.integers(0, 6), st.integers(0, 6))
def test_a_part_and_a_choice_keep_each_series_with_its_points(first: int, more: int) -> None:
    rows = [("m", str(n % 6), {}, n) for n in range(20)]
    found = collected(rows, rows[:7]).series()
    assert found is not None
    whole = dict(zip(keys_of(found), found.lists("value").to_pylist(), strict=True))
    last = min(first + more, len(found))
    if first >= last:
        return
    part = found.slice(first, last)
    assert dict(zip(keys_of(part), part.lists("value").to_pylist(), strict=True)) == dict(
        list(whole.items())[first:last]
    )
    chosen = found.select(np.arange(len(found)) >= first)
    assert dict(zip(keys_of(chosen), chosen.lists("value").to_pylist(), strict=True)) == dict(
        list(whole.items())[first:]
    )


def keys_of(found: Series) -> list[Any]:
    rows = found.identities.to_pylist()
    return [(row["metric"], row["stream"], tuple(sorted(row["labels"]))) for row in rows]


def test_a_label_that_is_missing_is_not_one_of_another_name() -> None:
    table = identities([("m", "s", {"tier": "1"}, 0), ("m", "s", {"x": "1"}, 0), ("m", "s", {}, 0)])
    assert len(set(series_codes(table).tolist())) == 3
    assert len(set(series_names(table).to_pylist())) == 3
    assert label_names(table) == ["tier", "x"]
    assert label(table, "x").to_pylist() == ["", "1", ""]


def test_a_name_stays_the_same_when_others_have_more_labels() -> None:
    alone = identities([("m", "s", {}, 0)])
    among = identities([("m", "s", {}, 0), ("m", "s", {"tier": "1"}, 0)])
    assert collected_names(alone)[0] in collected_names(among)
    found = collected(
        [("m", "s", {}, 0)], [("m", "s", {}, 0), ("m", "s", {"tier": "1"}, 0)]
    ).series()
    assert found is not None
    assert len(found) == 2


def collected_names(table: Any) -> list[str]:
    names: list[str] = series_names(table).to_pylist()
    return names


def test_many_labels_do_not_run_out_of_numbers() -> None:
    """Seven columns of a thousand values each would be 10^21 combinations."""
    numbers = np.arange(1000)
    columns = {
        name: pa.array([f"{name}{n}" for n in numbers]) for name in ("metric", *SUBJECT_LABELS)
    }
    table = pa.table({**columns, "labels": pa.array([[("l", str(n))] for n in numbers], LABELS)})
    assert len(set(series_codes(table).tolist())) == 1000


def limits(*rows: tuple[str, dict[str, Any], float, int]) -> CurrentLimits:
    """Metric, what differs from the usual stream, value, and the last hour of it."""
    found = SeriesCollector(("last", "last_hour"))
    for metric, changes, value, hour in sorted(rows, key=lambda row: row[3]):
        who = pa.Table.from_pylist([{**WHO, **changes, "metric": metric}], schema=SCHEMA)
        at = np.array([float(hour)])
        found.add(who, at, {"last": np.array([value]), "last_hour": at})
    return current_limits(found.series())


LIMIT, INFO = catalog.STREAM_MAX_BYTES.name, catalog.STREAM_INFO.name
WHO = {**dict.fromkeys(SUBJECT_LABELS, ""), "system": "demo", "stream": "S", "labels": []}
SCHEMA = pa.schema(
    [*((name, pa.string()) for name in ("metric", *SUBJECT_LABELS)), ("labels", LABELS)]
)


def info(discard: str, leader: str) -> dict[str, Any]:
    return {"labels": [("discard", discard), ("leader", leader)]}


def test_the_newest_limit_is_in_force() -> None:
    assert limits((LIMIT, {}, 10.0, 5), (LIMIT, {}, 20.0, 29)).limit(LIMIT, WHO, 29) == 20.0


def test_a_limit_that_was_taken_away_is_none() -> None:
    found = limits((LIMIT, {}, 20.0, 12))
    assert found.limit(LIMIT, WHO, 23) is None
    assert found.limit(LIMIT, WHO, 12) == 20.0


def test_a_limit_of_another_system_metric_or_label_is_not_ours() -> None:
    cluster = {"labels": [("cluster", "eu")]}
    found = limits((LIMIT, {"system": "other"}, 1.0, 23), (LIMIT, cluster, 2.0, 23))
    assert found.limit(LIMIT, WHO, 23) is None
    assert found.limit("another", {**WHO, **cluster}, 23) is None
    assert found.limit(LIMIT, {**WHO, **cluster}, 23) == 2.0


def test_the_newest_info_has_the_discard_policy() -> None:
    edited = limits((INFO, info("old", "n1"), 1.0, 5), (INFO, info("new", "n2"), 1.0, 9))
    assert not edited.discards_old(WHO)
    elected = limits((INFO, info("new", "n1"), 1.0, 5), (INFO, info("old", "n2"), 1.0, 9))
    assert elected.discards_old(WHO)
    assert not elected.discards_old({**WHO, "system": "other"})
