"""Queries of the boards: variables, kinds and labels of metrics."""

from __future__ import annotations

import pytest
from support.grafana.promql import parsed

from dashboards import external_metrics
from dashboards.panels.model import Query
from dashboards.queries import Scope, summed_over_range
from exporter import catalog as c
from exporter.metric import Metric
from streamgauge.promql.expression import Expression, ExpressionError
from streamgauge.promql.functions import until
from streamgauge.promql.selectors import Regex

SCOPE = Scope(("system", "account", "stream"))


def test_a_gauge_is_folded_over_replicas_and_chosen_by_the_variables() -> None:
    assert str(SCOPE.now(c.STREAM_BYTES)) == (
        "max by (system, account, stream) (streamgauge_stream_bytes"
        '{job=~"$job", system=~"$system", account=~"$account", stream=~"$stream"})'
    )


def test_a_variable_without_a_label_of_the_metric_is_omitted() -> None:
    assert "account" not in str(SCOPE.now(c.SERVER_UP))


def test_a_fixed_matcher_takes_the_place_of_the_variable() -> None:
    text = str(SCOPE.now(c.STREAM_BYTES, stream="ORDERS"))
    assert 'stream="ORDERS"' in text
    assert "$stream" not in text


def test_a_fixed_matcher_may_be_a_pattern() -> None:
    fill = SCOPE.now(c.STREAM_FILL_RATIO, limit=Regex("bytes|messages"))
    assert 'limit=~"bytes|messages"' in str(fill)


@pytest.mark.parametrize(
    ("query", "metric"),
    [
        (SCOPE.rate, c.STREAM_BYTES),
        (SCOPE.rate, c.CONSUMER_ACK_SECONDS),
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
def test_a_wrong_kind_of_metric_is_refused(query: object, metric: Metric) -> None:
    with pytest.raises(ExpressionError, match=metric.name):
        query(metric)  # type: ignore[operator]


def test_a_counter_that_is_fetched_seldom_needs_steady_rate() -> None:
    with pytest.raises(ExpressionError, match="use steady_rate"):
        SCOPE.rate(c.STREAM_PUBLISHES_RECEIVED)
    assert "[5m]) / 300" in str(SCOPE.steady_rate(c.STREAM_PUBLISHES_RECEIVED))


def test_a_label_that_the_metric_does_not_have_is_refused() -> None:
    with pytest.raises(ExpressionError, match="has no label server"):
        SCOPE.now(c.STREAM_BYTES, server="n1")
    with pytest.raises(ExpressionError, match="has no such label"):
        SCOPE.info(c.STREAM_INFO, "colour")


def test_a_removed_label_cannot_be_in_a_grouping_or_legend() -> None:
    total = SCOPE.now(c.STREAM_BYTES).sum_by("system")
    with pytest.raises(ExpressionError, match="has no such label"):
        total.max_by("stream")
    with pytest.raises(ExpressionError, match="has no label stream"):
        Query(total, "{{stream}}")


def test_alerts_without_a_system_are_not_hidden_by_the_choice_of_one() -> None:
    text = str(SCOPE.now(external_metrics.ALERTS))
    assert 'system=~"|$system"' in text
    assert "job" not in text


@pytest.mark.parametrize(
    "expr",
    [
        SCOPE.now(c.STREAM_BYTES).where(SCOPE.peak(c.STREAM_BYTES).top(10)),
        SCOPE.rate(c.STREAM_STORED_MESSAGES).where(SCOPE.grown(c.STREAM_STORED_MESSAGES).top(3)),
        SCOPE.quantile(0.99, c.CONSUMER_ACK_SECONDS),
        SCOPE.before(c.STREAM_BYTES, "7d"),
        SCOPE.age(c.STREAM_LAST_TIMESTAMP_SECONDS).top(5),
        summed_over_range(SCOPE.now(c.CONSUMER_VERDICT).is_at_least(3)).top(2),
        SCOPE.each_target(external_metrics.TARGET_UP).where(SCOPE.own_targets()),
        until(SCOPE.now(c.FORECAST_STREAM_FULL_TIMESTAMP_SECONDS)),
    ],
)
def test_queries_parse(expr: Expression) -> None:
    parsed(str(expr))


def test_the_cluster_is_matched_by_every_series_whether_or_not_it_has_the_label() -> None:
    scope = Scope(("cluster", "system"))
    assert 'cluster=~"$cluster"' in str(scope.now(c.UP))
    alerts = str(scope.now(external_metrics.ALERTS))
    assert 'cluster=~"$cluster", system=~"|$system"' in alerts
