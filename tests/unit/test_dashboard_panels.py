"""What several boards share: tiles, panels, rankings, and how full something is."""

from __future__ import annotations

from functools import partial

import pytest
from support.grafana_promql import parsed

from alerts import thresholds as t
from dashboards.panels import fullness, shared, variables
from dashboards.panels.colours import ANY, BAD, OK, WARN, rising
from dashboards.panels.limits import limits
from dashboards.panels.model import Column, Guide, Table, Target
from dashboards.panels.tiles import tile
from dashboards.queries import Scope
from exporter import catalog as c
from streamgauge.promql.expression import Expression, ExpressionError

SCOPE = Scope(("system", "account", "stream", "consumer"))
GUIDE = Guide("What it means.", "When it is bad.", "What to do.")


def test_a_tile_asks_one_query_and_hands_its_look_on() -> None:
    expr = SCOPE.now(c.STREAM_BYTES)
    made = tile("Size", expr, "bytes", GUIDE, legend="{{stream}}", steps=rising(bad=ANY), width=5)
    assert [(query.expr, query.legend) for query in made.queries] == [(expr, "{{stream}}")]
    assert (made.title, made.unit, made.guide) == ("Size", "bytes", GUIDE)
    assert (made.steps, made.width) == (rising(bad=ANY), 5)


def test_a_boards_own_tile_may_still_choose_another_legend() -> None:
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


def test_a_ranking_refuses_a_kind_that_cannot_answer_it() -> None:
    with pytest.raises(ExpressionError, match="is a counter"):
        SCOPE.highest(c.STREAM_STORED_MESSAGES, 3)
    with pytest.raises(ExpressionError, match="of a gauge"):
        SCOPE.busiest(c.STREAM_BYTES, 3)


@pytest.mark.parametrize(
    "expr",
    [
        SCOPE.highest(c.CONSUMER_LAG_SECONDS, 7),
        SCOPE.busiest(c.STREAM_STORED_MESSAGES, 3),
        variables.unwell_longest(SCOPE, 15),
        fullness.of_stream(SCOPE),
        fullness.of_server_files(SCOPE),
        fullness.of_server_memory(SCOPE),
    ],
    ids=["highest", "busiest", "unwell", "stream", "files", "memory"],
)
def test_what_the_boards_share_parses(expr: Expression) -> None:
    parsed(str(expr))


def test_how_full_a_stream_is_tells_bytes_and_messages_alone() -> None:
    assert 'limit=~"bytes|messages"' in str(fullness.of_stream(SCOPE))


def test_fullness_turns_where_the_alerts_speak() -> None:
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
    assert "the stream's metadata" in table.guide.means


def test_a_configuration_is_sorted_by_what_it_belongs_to() -> None:
    told = ("retention", "storage")
    size = Column("Max bytes", SCOPE.now(c.STREAM_MAX_BYTES), "bytes")
    table = shared.configuration(
        SCOPE, c.STREAM_INFO, told, (size,), identity=c.STREAM, bad="No limit."
    )
    assert (table.sort_by, table.shown_labels, table.guide.bad) == ("Stream", told, "No limit.")
    assert [column.title for column in table.columns] == ["", "Max bytes"]


def test_findings_are_told_apart_by_check_and_severity() -> None:
    found = Column("Assets", SCOPE.now(c.STREAM_CONFIG_FINDINGS))
    table: Table = shared.audit_findings(
        "Checks that fail.", found, identity=c.STREAM, links=(Target.STREAM,)
    )
    assert table.identity == (*c.STREAM, "check", "severity")
    assert (table.columns, table.links) == ((found,), (Target.STREAM,))


def test_questions_left_out_name_the_question_and_the_reason() -> None:
    panel = shared.questions_left_out(SCOPE, GUIDE, height=10)
    assert panel.queries[0].legend == "{{system}} {{question}}: {{reason}}"
    assert panel.height == 10
