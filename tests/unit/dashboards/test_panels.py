"""Shared parts of the boards: tiles, panels, rankings, fill ratios."""

from __future__ import annotations

from functools import partial

import pytest
from support.grafana.promql import parsed

from alerts import thresholds as t
from dashboards.panels import conditions, fullness, shared
from dashboards.panels.colours import ANY, BAD, INFO, OK, WARN, rising
from dashboards.panels.limits import limits
from dashboards.panels.model import Column, Guide, Target
from dashboards.panels.tiles import tile
from dashboards.queries import Scope
from exporter import catalog as c
from streamgauge.promql.expression import Expression, ExpressionError

SCOPE = Scope(("system", "account", "stream", "consumer"))
GUIDE = Guide("What it means.", "When it is bad.", "What to do.")


def test_a_tile_has_one_query_and_its_options() -> None:
    expr = SCOPE.now(c.STREAM_BYTES)
    made = tile("Size", expr, "bytes", GUIDE, legend="{{stream}}", steps=rising(bad=ANY), width=5)
    assert [(query.expr, query.legend) for query in made.queries] == [(expr, "{{stream}}")]
    assert (made.title, made.unit, made.guide) == ("Size", "bytes", GUIDE)
    assert (made.steps, made.width) == (rising(bad=ANY), 5)


def test_a_partial_tile_may_have_another_legend() -> None:
    own = partial(tile, legend="{{stream}}")
    leader = SCOPE.info(c.STREAM_INFO, "leader")
    assert own("Size", SCOPE.now(c.STREAM_BYTES), "bytes", GUIDE).queries[0].legend == "{{stream}}"
    assert (
        own("Leader", leader, "none", GUIDE, legend="{{leader}}").queries[0].legend == "{{leader}}"
    )


def test_the_highest_are_chosen_by_their_peak_and_the_busiest_by_their_growth() -> None:
    highest = str(SCOPE.highest(c.CONSUMER_LAG_SECONDS, 7))
    busiest = str(SCOPE.busiest(c.STREAM_STORED_MESSAGES, 3))
    assert "topk(7, max by" in highest
    assert "max_over_time(streamgauge_consumer_lag_seconds" in highest
    assert "topk(3, max by" in busiest
    assert "increase(streamgauge_stream_stored_messages_total" in busiest


def test_a_ranking_refuses_a_wrong_kind_of_metric() -> None:
    with pytest.raises(ExpressionError, match="is a counter"):
        SCOPE.highest(c.STREAM_STORED_MESSAGES, 3)
    with pytest.raises(ExpressionError, match="is a gauge"):
        SCOPE.busiest(c.STREAM_BYTES, 3)


@pytest.mark.parametrize(
    "expr",
    [
        SCOPE.highest(c.CONSUMER_LAG_SECONDS, 7),
        SCOPE.busiest(c.STREAM_STORED_MESSAGES, 3),
        conditions.unhealthy_longest(SCOPE, 15),
        fullness.of_stream(SCOPE),
        fullness.of_server_files(SCOPE),
        fullness.of_server_memory(SCOPE),
    ],
    ids=["highest", "busiest", "unhealthy", "stream", "files", "memory"],
)
def test_shared_queries_parse(expr: Expression) -> None:
    parsed(str(expr))


def test_the_fill_ratio_of_a_stream_covers_bytes_and_messages() -> None:
    assert 'limit=~"bytes|messages"' in str(fullness.of_stream(SCOPE))


def test_fill_ratios_change_colour_at_the_alert_thresholds() -> None:
    chosen = limits()
    stream = [(step.colour, step.value) for step in fullness.stream_steps(chosen)]
    assert stream == [
        (OK, None),
        (WARN, t.STREAM_FILLING_RATIO.value),
        (BAD, t.STREAM_FULL_RATIO.value),
    ]
    account = [(step.colour, step.value) for step in fullness.account_steps(chosen)]
    assert account == [
        (OK, None),
        (WARN, t.ACCOUNT_HIGH_RATIO.value),
        (BAD, t.ACCOUNT_FULL_RATIO.value),
    ]
    server = [(step.colour, step.value) for step in fullness.server_steps(chosen)]
    assert server == [(OK, None), (BAD, t.SERVER_STORAGE_RATIO.value)]


def test_owners_limits_have_one_row_for_each_limit_of_each_asset() -> None:
    table = shared.owner_limits(SCOPE, c.STREAM_THRESHOLD, "stream")
    assert table.identity == (*c.STREAM, "limit")


def test_a_configuration_is_sorted_by_its_asset() -> None:
    labels = ("retention", "storage")
    size = Column("Max bytes", SCOPE.now(c.STREAM_MAX_BYTES), "bytes")
    table = shared.configuration(
        SCOPE, c.STREAM_INFO, labels, (size,), identity=c.STREAM, bad="No limit."
    )
    assert (table.sort_by, table.shown_labels, table.guide.bad) == ("Stream", labels, "No limit.")
    assert [column.title for column in table.columns] == ["", "Max bytes"]


def test_findings_are_listed_gravest_first_in_colours() -> None:
    table = shared.audit_findings(
        SCOPE, c.STREAM_CONFIG_FINDINGS, "Checks that fail.", most=5, links=(Target.STREAM,)
    )
    assert (table.identity, table.links) == ((*c.STREAM, "check"), (Target.STREAM,))
    assert (table.sort_by, table.ascending) == ("Severity", False)
    severity, assets = table.columns
    assert severity.mapping
    by_number = sorted(severity.mapping.values, key=lambda each: -each.value)
    assert [(each.text, each.colour) for each in by_number] == [
        ("crit", BAD),
        ("warn", WARN),
        ("info", INFO),
    ]
    assert str(severity.expr).startswith("topk(5, ")
    assert str(severity.expr) in str(assets.expr), "only those that are shown"


def test_findings_of_a_consumer_count_no_assets() -> None:
    table = shared.audit_findings(SCOPE, c.CONSUMER_CONFIG_FINDING, "Checks that fail.")
    assert [column.title for column in table.columns] == ["Severity"]


def test_skipped_requests_have_the_request_and_the_reason() -> None:
    panel = shared.skipped_requests(SCOPE, GUIDE, height=10)
    assert panel.queries[0].legend == "{{system}} {{request}}: {{reason}}"
    assert panel.height == 10
