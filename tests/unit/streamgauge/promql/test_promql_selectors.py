"""Selectors: catalogue metrics only with their own labels and with functions that fit their kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from exporter import catalog as c
from exporter.metric import Kind
from streamgauge.promql.context import PlainContext
from streamgauge.promql.expression import Expression, ExpressionError
from streamgauge.promql.selectors import (
    TARGET,
    ExternalSeries,
    Matcher,
    Not,
    OverTime,
    Regex,
    Selector,
    identity,
    matchers,
    require_kind,
    select_any,
)

REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "a metric that is not exported": (
        lambda: Selector(replace(c.STREAM_UP, name="streamgauge_stream_upp")),
        "streamgauge_stream_upp: is not in the catalogue",
    ),
    "another metric of the same name": (
        lambda: Selector(replace(c.STREAM_UP, help="Another.")),
        "streamgauge_stream_up: is not in the catalogue",
    ),
    "a label that the metric has not": (
        lambda: Selector(c.STREAM_UP, matchers({"consumer": "x"})),
        "streamgauge_stream_up: has no label consumer",
    ),
    "the last value of a counter": (
        lambda: OverTime("last_over_time", Selector(c.CONSUMER_DELIVERIES), "2m"),
        "streamgauge_consumer_deliveries_total: last_over_time of a counter",
    ),
    "the growth of a gauge": (
        lambda: OverTime("increase", Selector(c.CONSUMER_NUM_PENDING), "15m"),
        "streamgauge_consumer_num_pending: increase of a gauge",
    ),
    "a gauge in place of an info": (
        lambda: require_kind(c.STREAM_UP, Kind.INFO),
        "streamgauge_stream_up: is a gauge, not a info",
    ),
}


@pytest.mark.parametrize(("build", "message"), REFUSED.values(), ids=REFUSED)
def test_what_would_mislead_is_refused(build: Callable[[], Expression], message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        build()
    assert str(caught.value) == message


def test_matchers_are_quoted_and_negated() -> None:
    assert str(Matcher("stream", 'a"b\\c')) == r'stream="a\"b\\c"'
    assert str(Matcher("stream", Regex("a|b"))) == 'stream=~"a|b"'
    assert str(Matcher("stream", Not("a"))) == 'stream!="a"'
    assert str(Matcher("stream", Not(Regex("a.*")))) == 'stream!~"a.*"'
    assert select_any("a", "b") == '{__name__=~"a|b"}'


def test_an_exclusion_is_added_where_the_metric_has_the_label() -> None:
    context = PlainContext(exclusions={"stream": 'TE"ST\\d', "server": "n9"})
    lag = Selector(c.STREAM_REPLICA_LAG).render(context)
    assert lag == r'streamgauge_stream_replica_lag{stream!~"TE\"ST\\d", server!~"n9"}'
    assert Selector(c.UP).render(context) == "streamgauge_up"


def test_an_info_is_identified_by_its_asset() -> None:
    assert identity(c.STREAM_INFO) == c.STREAM
    assert identity(c.STREAM_REPLICA_LAG) == c.STREAM_REPLICA_LAG.labels


def test_a_target_has_labels_of_its_own() -> None:
    up = ExternalSeries("up", Kind.GAUGE, TARGET)
    assert Selector(up).labels == TARGET
    assert Selector(c.UP, by_target=True).labels == ("system", *TARGET)


def test_windows_offsets_and_extrapolation() -> None:
    fill = Selector(c.STREAM_FILL_RATIO)
    assert str(OverTime("min_over_time", fill, "5m", "1d")) == (
        "min_over_time(streamgauge_stream_fill_ratio[5m] offset 1d)"
    )
    assert str(Selector(c.STREAM_FILL_RATIO, offset="7d")).endswith("_ratio offset 7d")
    assert str(OverTime("max_over_time", fill, "$__range", at_end=True)).endswith(
        "[$__range] @ end())"
    )


def test_a_counter_may_be_selected_for_its_presence() -> None:
    there = OverTime("last_over_time", Selector(c.CONSUMER_DELIVERIES), "2m", presence=True)
    assert str(there) == "last_over_time(streamgauge_consumer_deliveries_total[2m])"
