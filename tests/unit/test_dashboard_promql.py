"""Queries know a metric's kind and labels: what would mislead is refused where it is written."""

from __future__ import annotations

import pytest
from support.grafana_promql import parsed

from dashboards import external_metrics
from dashboards.expression import Expr, QueryError
from dashboards.panels.model import Query
from dashboards.queries import Matching, Scope, added_up, own_targets
from exporter import catalog as c
from exporter.metric import Metric

SCOPE = Scope(("system", "account", "stream"))


def test_a_gauge_is_folded_over_replicas_and_chosen_by_the_variables() -> None:
    assert SCOPE.now(c.STREAM_BYTES).text == (
        "max by (system, account, stream) (streamgauge_stream_bytes"
        '{job=~"$job", system=~"$system", account=~"$account", stream=~"$stream"})'
    )


def test_a_variable_that_the_metric_has_no_label_for_is_left_out() -> None:
    assert "account" not in SCOPE.now(c.SERVER_UP).text


def test_a_fixed_matcher_takes_the_place_of_the_variable() -> None:
    text = SCOPE.now(c.STREAM_BYTES, stream="ORDERS").text
    assert 'stream="ORDERS"' in text
    assert "$stream" not in text


def test_a_fixed_matcher_may_be_a_pattern() -> None:
    fill = SCOPE.now(c.STREAM_FILL_RATIO, limit=Matching("bytes|messages"))
    assert 'limit=~"bytes|messages"' in fill.text


@pytest.mark.parametrize(
    ("ask", "metric"),
    [
        (SCOPE.rate, c.STREAM_BYTES),
        (SCOPE.increase, c.STREAM_BYTES),
        (SCOPE.grown, c.STREAM_BYTES),
        (SCOPE.now, c.STREAM_STORED_MESSAGES),
        (SCOPE.now, c.STREAM_INFO),
        (SCOPE.now, c.CONSUMER_ACK_SECONDS),
        (SCOPE.growth, c.STREAM_STORED_MESSAGES),
        (SCOPE.peak, c.STREAM_STORED_MESSAGES),
        (SCOPE.info, c.STREAM_BYTES),
        (SCOPE.buckets, c.STREAM_BYTES),
        (SCOPE.age, c.STREAM_BYTES),
    ],
)
def test_what_a_kind_cannot_answer_is_refused(ask: object, metric: Metric) -> None:
    with pytest.raises(QueryError, match=metric.name):
        ask(metric)  # type: ignore[operator]


def test_what_is_read_once_a_minute_is_not_rated_over_less() -> None:
    with pytest.raises(QueryError, match="use steady_rate"):
        SCOPE.rate(c.STREAM_PUBLISHES_RECEIVED)
    assert "[5m]) / 300" in SCOPE.steady_rate(c.STREAM_PUBLISHES_RECEIVED).text


def test_a_label_that_the_metric_does_not_have_is_refused() -> None:
    with pytest.raises(QueryError, match="has no label server"):
        SCOPE.now(c.STREAM_BYTES, server="n1")
    with pytest.raises(QueryError, match="has no label nobody"):
        SCOPE.info(c.STREAM_INFO, "nobody")


def test_a_label_that_is_gone_cannot_be_grouped_by_or_named_in_a_legend() -> None:
    total = SCOPE.now(c.STREAM_BYTES).sum_by("system")
    with pytest.raises(QueryError, match="has no label stream"):
        total.max_by("stream")
    with pytest.raises(QueryError, match="has no label stream"):
        Query(total, "{{stream}}")


def test_a_ratio_has_no_sample_where_the_divisor_is_zero() -> None:
    ratio = SCOPE.rate(c.SERVER_API_ERRORS).over(SCOPE.rate(c.SERVER_API_REQUESTS))
    assert ratio.text.endswith("> 0)")


def test_the_side_with_fewer_labels_is_matched_on_them() -> None:
    lag, age = SCOPE.now(c.CONSUMER_LAG_SECONDS), SCOPE.now(c.STREAM_MAX_AGE_SECONDS)
    assert "/ on (system, account, stream) group_left () " in lag.over(age).text
    with pytest.raises(QueryError, match="has no label consumer"):
        age.over(lag)


def test_an_operation_inside_another_keeps_its_brackets() -> None:
    used = SCOPE.now(c.STREAM_BYTES)
    assert used.minus(used).times(2).text == f"({used.text} - {used.text}) * 2"


def test_zero_needs_a_witness() -> None:
    up = SCOPE.now(c.STREAM_UP)
    found = up.equal(0).count_by()
    assert found.or_zero(up).text == f"{found.text} or 0 * count ({up.text})"


def test_alerts_without_a_system_are_not_hidden_by_the_choice_of_one() -> None:
    text = SCOPE.now(external_metrics.ALERTS).text
    assert 'system=~"|$system"' in text
    assert "job" not in text


@pytest.mark.parametrize(
    "expr",
    [
        SCOPE.now(c.STREAM_BYTES).only(SCOPE.peak(c.STREAM_BYTES).top(10)),
        SCOPE.rate(c.STREAM_STORED_MESSAGES).only(SCOPE.grown(c.STREAM_STORED_MESSAGES).top(3)),
        SCOPE.quantile(0.99, c.CONSUMER_ACK_SECONDS),
        SCOPE.before(c.STREAM_BYTES, "7d"),
        SCOPE.age(c.STREAM_LAST_TIMESTAMP_SECONDS).top(5),
        added_up(SCOPE.now(c.CONSUMER_VERDICT).is_at_least(3)).top(2),
        SCOPE.each_target(external_metrics.TARGET_UP).only(own_targets()),
        SCOPE.now(c.FORECAST_STREAM_FULL_TIMESTAMP_SECONDS).from_now(),
    ],
)
def test_what_is_built_parses(expr: Expr) -> None:
    parsed(expr.text)
