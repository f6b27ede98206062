"""The expression layer: what it writes, and what it refuses before Prometheus could."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from alerts import thresholds
from alerts.queries import (
    age,
    fresh,
    holds,
    increase,
    latest,
    predicted,
    slope,
    total,
    worst,
)
from alerts.render_options import DEFAULT, Terms, Timing
from exporter import catalog
from streamgauge.promql.expression import Expression, ExpressionError
from streamgauge.promql.functions import Beyond, Renamed, Tagged
from streamgauge.promql.selectors import Reading

K = "system, account, stream, consumer"
PENDING = (
    f'max by ({K}) (last_over_time(streamgauge_consumer_num_pending{{consumer!="_ephemeral"}}[2m]))'
)
UP = "max by (system, account, stream) (last_over_time(streamgauge_stream_up[2m]))"

REFUSED: dict[str, tuple[Callable[[], Expression], str]] = {
    "a metric that nobody exports": (
        lambda: latest(replace(catalog.STREAM_UP, name="streamgauge_stream_upp")),
        "streamgauge_stream_upp: is not in the catalogue",
    ),
    "another metric of the same name": (
        lambda: latest(replace(catalog.STREAM_UP, help="Another.")),
        "streamgauge_stream_up: is not in the catalogue",
    ),
    "a label that the metric has not": (
        lambda: latest(catalog.STREAM_UP, consumer="x"),
        "streamgauge_stream_up: has no label consumer",
    ),
    "a bare counter": (
        lambda: latest(catalog.CONSUMER_DELIVERIES),
        "streamgauge_consumer_deliveries_total: last_over_time of a counter",
    ),
    "the growth of a gauge": (
        lambda: increase(catalog.CONSUMER_NUM_PENDING, "15m"),
        "streamgauge_consumer_num_pending: increase of a gauge",
    ),
    "the slope of a counter": (
        lambda: slope(catalog.CONSUMER_DELIVERIES, "15m"),
        "streamgauge_consumer_deliveries_total: deriv of a counter",
    ),
    "an info that is a gauge": (
        lambda: holds(catalog.STREAM_UP),
        "streamgauge_stream_up: is not an info metric",
    ),
    "a grouping by a label that is not there": (
        lambda: total(("system", "server"), latest(catalog.STREAM_UP)),
        "sum by ['server']: nothing has such a label",
    ),
    "a filter with more labels than what it filters": (
        lambda: (latest(catalog.STREAM_UP) > 0).where(latest(catalog.CONSUMER_UP) > 0),
        "and: the right side has ['consumer'], the left side has not",
    ),
    "a division by something with more labels": (
        lambda: latest(catalog.STREAM_MESSAGES) / latest(catalog.CONSUMER_NUM_PENDING),
        "/: the right side has ['consumer'], the left side has not",
    ),
    "a limit of something else": (
        lambda: Beyond(
            latest(catalog.STREAM_MESSAGES), ">=", latest(catalog.CONSUMER_THRESHOLD), "limit"
        ),
        ">=: a limit must have the labels of its value",
    ),
    "a tag that is a label already": (
        lambda: Tagged(latest(catalog.STREAM_UP), "stream", "x"),
        "stream: is a label already",
    ),
}


@pytest.mark.parametrize(("build", "line"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_mean_anything_is_refused(build: Callable[[], Expression], line: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        build()
    assert str(caught.value) == line


def test_a_value_is_taken_once_per_identity_and_survives_a_missed_scrape() -> None:
    assert latest(catalog.CONSUMER_NUM_PENDING).text(DEFAULT) == PENDING


def test_sides_with_the_same_labels_need_no_matching() -> None:
    both = (latest(catalog.CONSUMER_NUM_PENDING) > 0).where(latest(catalog.CONSUMER_UP).equals(1))
    assert "on (" not in both.text(DEFAULT)


def test_sides_with_fewer_labels_are_matched_on_those() -> None:
    share = latest(catalog.CONSUMER_NUM_PENDING) / latest(catalog.STREAM_MESSAGES)
    assert "/ on (system, account, stream) group_left () max by" in share.text(DEFAULT)
    filtered = (latest(catalog.CONSUMER_NUM_PENDING) > 0).where(latest(catalog.STREAM_UP).equals(1))
    assert filtered.text(DEFAULT) == f"{PENDING} > 0\nand on (system, account, stream) {UP} == 1"


def test_a_side_whose_labels_vary_is_always_matched_by_name() -> None:
    either = (latest(catalog.SERVER_UP).equals(0)).or_(
        worst(catalog.SYSTEM, latest(catalog.SERVER_UP).equals(0))
    )
    assert either.labels == ("system",)
    assert either.possible == ("system", "server")
    assert "\nand on (system) min by (system)" in either.where(fresh()).text(DEFAULT)


def test_looser_parts_stand_in_brackets() -> None:
    pending, acks = latest(catalog.CONSUMER_NUM_PENDING), latest(catalog.CONSUMER_NUM_ACK_PENDING)
    assert ((pending + acks) * 2).text(DEFAULT).startswith("(max by")
    assert (pending - (acks - 1)).text(DEFAULT).endswith(" - 1)")
    assert "(" not in (pending + acks * 2).text(DEFAULT).replace("max by (", "").split(" * ")[1]
    chosen = ((pending > 0).or_(acks > 0)).where(latest(catalog.CONSUMER_UP).equals(1))
    assert chosen.text(DEFAULT).startswith("(\n  max by")


def test_an_age_is_a_subtraction() -> None:
    doubled = age(catalog.CONSUMER_LAST_ACK_TIMESTAMP_SECONDS) * 2
    assert doubled.text(DEFAULT).startswith("(time() - max by")


def test_a_threshold_is_written_as_the_number_that_counts() -> None:
    condition = latest(catalog.STREAM_REPLICA_LAG) > thresholds.REPLICA_LAG
    terms = Terms(thresholds=thresholds.overridden(["replica_lag=7"]))
    assert condition.text(DEFAULT).endswith("> 1000")
    assert condition.text(terms).endswith("> 7")


def test_a_threshold_can_be_a_window_and_a_horizon() -> None:
    terms = Terms(thresholds=thresholds.overridden(["stream_filling_horizon=2h"]))
    horizon = thresholds.STREAM_FILLING_HORIZON
    text = predicted(catalog.STREAM_FILL_RATIO, "6h", horizon).text(terms)
    assert text.endswith("(predict_linear(streamgauge_stream_fill_ratio[6h], 7200))")
    assert "[4h]" in increase(catalog.STREAM_RECREATED, horizon).text(DEFAULT)


def test_a_trial_shortens_windows_but_keeps_room_for_two_samples() -> None:
    terms = Terms(timing=Timing(speed=60))
    assert "[15s]" in increase(catalog.STREAM_RECREATED, "15m").text(terms)
    assert "[5s]" in latest(catalog.STREAM_UP).text(terms)


def test_what_is_excluded_is_left_out_of_every_selector_that_has_the_label() -> None:
    terms = Terms(exclusions={"stream": 'TE"ST\\d', "server": "n9"})
    text = (latest(catalog.STREAM_REPLICA_LAG) > 0).where(fresh()).text(terms)
    assert '{stream!~"TE\\"ST\\\\d",server!~"n9"}[2m]' in text
    assert "snapshot_age_seconds[2m]" in text


def test_an_origin_is_a_stream_by_another_name() -> None:
    renamed = Renamed(latest(catalog.STREAM_UP), "stream", "source")
    assert renamed.labels == ("system", "account", "source")
    assert renamed.text(DEFAULT) == (
        f'max by (system, account, source) (label_replace({UP}, "source", "$1", "stream", "(.*)"))'
    )


def test_a_crowd_counts_only_where_it_is_asked_for() -> None:
    alone = latest(catalog.CONSUMER_NUM_PENDING, crowd=True).text(DEFAULT)
    assert "_ephemeral" not in alone
    assert len(latest(catalog.CONSUMER_NUM_PENDING).all_of(Reading)) == 1
