"""The PromQL tree: what it renders, and what it refuses before Prometheus could."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from support.grafana.promql import parsed

from exporter import catalog as c
from exporter.metric import Metric
from streamgauge.promql.context import Layout, PlainContext
from streamgauge.promql.expression import Expression, ExpressionError, Number
from streamgauge.promql.functions import (
    absent,
    constant,
    copy_label,
    histogram_quantile,
    rename_label,
    rounded,
    since,
    spread,
    until,
    with_label,
)
from streamgauge.promql.selectors import OverTime, Selector, matchers

RULE = PlainContext(Layout(multiline=True, all_brackets=False, matcher_separator=","))


def of(metric: Metric) -> Expression:
    return Selector(metric).max_by(*metric.labels)


PENDING = of(c.CONSUMER_NUM_PENDING)
ACKS = of(c.CONSUMER_NUM_ACK_PENDING)
UP = of(c.STREAM_UP)
UP_TEXT = "max by (system, account, stream) (streamgauge_stream_up)"

REFUSED: dict[str, tuple[Callable[[], Expression], str]] = {
    "a grouping by a label that is not there": (
        lambda: UP.sum_by("system", "server"),
        f"sum by ['server']: {UP_TEXT} has no such label",
    ),
    "a filter with more labels than what it filters": (
        lambda: (UP > 0).where(PENDING > 0),
        "and: the left side has no label ['consumer']",
    ),
    "a division by something with more labels": (
        lambda: UP / PENDING,
        "/: the left side has no label ['consumer']",
    ),
    "a match on a label that the right side has not": (
        lambda: PENDING.where(UP, on=("consumer",)),
        "and: the right side has no label ['consumer']",
    ),
    "a new label that is a label already": (
        lambda: with_label(UP, "stream", "x"),
        "stream: is a label already",
    ),
    "a rename of a label that is not there": (
        lambda: rename_label(UP, "server", "peer"),
        "server: there is no such label to rename",
    ),
}


@pytest.mark.parametrize(("build", "message"), REFUSED.values(), ids=REFUSED)
def test_what_can_never_match_is_refused(build: Callable[[], Expression], message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        build()
    assert str(caught.value) == message


def test_sides_with_the_same_labels_need_no_matching() -> None:
    assert "on (" not in str((PENDING > 0).where(ACKS.equals(1)))


def test_the_side_with_fewer_labels_is_matched_on_them() -> None:
    assert " / on (system, account, stream) group_left () max by" in str(PENDING / UP)
    assert (UP > 0).where(UP.equals(1)).render(RULE) == f"{UP_TEXT} > 0\nand {UP_TEXT} == 1"
    assert "\nand on (system, account, stream) max by" in PENDING.where(UP).render(RULE)


def test_a_side_whose_labels_vary_is_matched_by_name() -> None:
    down = of(c.SERVER_UP).equals(0)
    either = down.or_(down.max_by("system"))
    assert either.labels == ("system",)
    assert either.possible == ("system", "server")
    assert " and on (system) max by (system)" in str(either.where(of(c.UP)))


def test_rules_have_brackets_only_where_an_operand_binds_less_tightly() -> None:
    a, b = PENDING.render(RULE), ACKS.render(RULE)
    assert ((PENDING + ACKS) * 2).render(RULE) == f"({a} + {b}) * 2"
    assert (PENDING + ACKS * 2).render(RULE) == f"{a} + {b} * 2"
    assert (PENDING - (ACKS - 1)).render(RULE) == f"{a} - ({b} - 1)"
    assert (since(PENDING) * 2).render(RULE) == f"(time() - {a}) * 2"
    filtered = (PENDING > 0).or_(ACKS > 0).where(PENDING)
    assert filtered.render(RULE) == f"(\n  {a} > 0\n  or {b} > 0\n)\nand {a}"


def test_panels_are_one_line_with_brackets_around_every_operator() -> None:
    a, b = str(PENDING), str(ACKS)
    assert str(PENDING + ACKS * 2) == f"{a} + ({b} * 2)"
    assert str((PENDING > 0).where(ACKS)) == f"({a} > 0) and {b}"
    assert str(PENDING.or_(ACKS).or_(ACKS)) == f"({a} or {b}) or {b}"


def test_a_ratio_has_no_sample_where_the_divisor_is_zero() -> None:
    assert str(PENDING.over(ACKS)) == f"{PENDING} / ({ACKS} > 0)"


def test_zero_needs_series_that_show_that_data_arrives() -> None:
    found = UP.equals(0).count_by()
    assert str(found.or_zero(UP)) == f"{found} or (0 * count({UP}))"


def test_a_boolean_comparison_keeps_every_series() -> None:
    assert str(PENDING.is_at_least(3)) == f"{PENDING} >= bool 3"
    assert not PENDING.is_above(3).conditional
    assert (PENDING > 3).conditional


def test_a_label_is_added_or_renamed() -> None:
    named = with_label(UP, "sign", 'with "quotes"')
    assert str(named) == rf'label_replace({UP}, "sign", "with \"quotes\"", "", "")'
    assert named.labels == (*c.STREAM, "sign")
    renamed = rename_label(UP, "stream", "source")
    assert str(renamed) == (
        f'max by (system, account, source) (label_replace({UP}, "source", "$1", "stream", "(.*)"))'
    )


def test_functions_inside_a_rule_indent_what_has_several_lines() -> None:
    named = with_label((UP > 0).where(UP), "sign", "x")
    assert named.render(RULE) == (
        f'label_replace(\n  {UP_TEXT} > 0\n  and {UP_TEXT}\n, "sign", "x", "", "")'
    )


@dataclass(frozen=True)
class Limit:
    name: str
    value: float


def test_a_named_number_has_its_own_value_unless_the_context_overrides_it() -> None:
    assert str(Limit("replica_lag", 1000.0) < UP).endswith("> 1000")
    assert str(Limit("ratio", 0.5) < UP).endswith("> 0.5")
    assert (Limit("x", 1) < UP).all_of(Number)[0].value == Limit("x", 1)


def test_every_shape_parses() -> None:
    buckets = OverTime("rate", Selector(c.CONSUMER_ACK_SECONDS), "5m")
    shapes = [
        histogram_quantile(0.99, buckets.max_by(*buckets.labels)),
        rounded(UP).absolute().clamp_min(0).clamp_max(1).top(3),
        spread(of(c.SERVER_CLOCK_OFFSET_SECONDS), "server"),
        until(UP).min_by(),
        absent(UP),
        constant(1) > 0,
        copy_label(UP, "stream", "stream_name"),
        1 - UP,
        Selector(c.STREAM_UP, matchers({"stream": 'a"b\\c'})).count_by(),
        OverTime("sum_over_time", UP.is_above(0), "1h", step="1m", at_end=True),
    ]
    for shape in shapes:
        parsed(str(shape))
        parsed(shape.render(RULE))
