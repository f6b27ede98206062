"""Who a series is about: labels as columns, scrapers folded away, several series as one."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.rollups.oracle import identity as wanted_identity
from support.rollups.oracle import identity_columns

from archive.tables.schema import SERIES_SCHEMA
from spark_rollups.rollup.identity_index import Identities, identities_of
from spark_rollups.rollup.series_identity import FOLDED_LABELS, identity_rows, kind_of, rises

CONSUMER = {"system": "s", "account": "A", "stream": "S", "consumer": "c"}
LAG = {"__name__": "streamgauge_consumer_lag_seconds", **CONSUMER}


def series_table(label_sets: list[dict[str, str]], first: int = 0) -> pa.Table:
    rows = [sorted(each.items()) for each in label_sets]
    return pa.table(
        {
            "series": pa.array(range(first, first + len(rows)), pa.int32()),
            "metric": pa.array([dict(row)["__name__"] for row in rows]).dictionary_encode(),
            "labels": pa.array(rows, SERIES_SCHEMA.field("labels").type),
            "fingerprint": pa.array([bytes([255 - n]) * 16 for n in range(len(rows))], pa.binary()),
        }
    )


def identities(
    label_sets: list[dict[str, str]], folded: tuple[str, ...] = FOLDED_LABELS
) -> Identities:
    return identities_of(identity_rows(series_table(label_sets), folded).combine_chunks())


def columns(found: Identities) -> list[dict[str, object]]:
    return [{**row, "labels": dict(row["labels"])} for row in found.table.to_pylist()]


def test_labels_become_columns_and_the_rest_stays_a_map() -> None:
    found = identities([{**LAG, "instance": "x:1", "job": "j", "tier": "R1", "region": ""}])
    assert columns(found) == [
        {"metric": LAG["__name__"], "kind": "gauge", **CONSUMER, "server": "",
         "labels": {"tier": "R1", "region": ""}}
    ]  # fmt: skip


def test_two_exporters_that_see_one_consumer_are_one_identity() -> None:
    found = identities(
        [{**LAG, "instance": "one"}, {**LAG, "consumer": "d"}, {**LAG, "pod": "two"}]
    )
    assert found.rank_of.tolist() == [0, 1, 0]
    assert found.shared.tolist() == [True, False]
    # Fingerprints descend here, so the last series comes first.
    assert found.order_of.tolist() == [2, 1, 0]


@pytest.mark.parametrize("label", ["__name__", *FOLDED_LABELS])
def test_who_scraped_is_folded_away(label: str) -> None:
    assert columns(identities([{**LAG, label: LAG["__name__"]}]))[0]["labels"] == {}


def test_folded_labels_are_a_setting() -> None:
    one, two = {**LAG, "zone": "a"}, {**LAG, "zone": "b"}
    assert len(columns(identities([one, two]))) == 2
    assert len(columns(identities([one, two], ("zone",)))) == 1


LABEL_SETS = st.lists(
    st.dictionaries(
        st.sampled_from(["system", "stream", "server", "instance", "a", "b", "ab"]),
        st.sampled_from(["", "a", "b", "a,b", "\x1f", "ÿþ", "b=a"]),
    ).map(lambda more: {"__name__": "x", **more}),
    min_size=1,
    max_size=12,
)


@settings(deadline=None)
@given(LABEL_SETS)
def test_series_are_one_identity_exactly_when_all_that_counts_is_equal(
    label_sets: list[dict[str, str]],
) -> None:
    found = identities(label_sets)
    rows = columns(found)
    for index, each in enumerate(label_sets):
        expected = identity_columns(wanted_identity(tuple(sorted(each.items()))))
        assert rows[found.rank_of[index]] == expected
    assert len(rows) == len({wanted_identity(tuple(sorted(each.items()))) for each in label_sets})


def test_a_series_of_another_metric_has_no_rank() -> None:
    found = identities([LAG])
    assert found.ranks(pa.array([0, 7]).to_numpy()).tolist() == [0, -1]


@pytest.mark.parametrize(
    ("metric", "kind", "rising"),
    [
        ("streamgauge_consumer_deliveries_total", "counter", True),
        ("streamgauge_consumer_lag_seconds", "gauge", False),
        ("streamgauge_stream_info", "info", False),
        ("streamgauge_consumer_ack_seconds_bucket", "histogram", True),
        ("streamgauge_consumer_ack_seconds_sum", "histogram", True),
        ("streamgauge_consumer_ack_seconds_count", "histogram", True),
        ("other_total", "counter", True),
        ("other_seconds_bucket", "histogram", True),
        ("other_count", "gauge", False),
        ("other", "gauge", False),
    ],
)
def test_the_catalogue_decides_the_kind_and_else_the_name(
    metric: str, kind: str, rising: bool
) -> None:
    assert kind_of(metric) == kind
    assert rises(kind_of(metric)) is rising
