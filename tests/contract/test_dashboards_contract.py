"""The committed boards against the catalogue, the alerts' numbers and one another."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import pytest
from support.grafana_boards import BOARDS, FILES, Json, Target, panels, targets, variables
from support.grafana_promql import Selector, grouping_labels, named_variables, parsed, selectors

from alerts import thresholds
from dashboards import external_metrics
from dashboards.boards.registry import all_boards
from dashboards.panels.colours import Step
from dashboards.panels.limits import limits
from dashboards.panels.model import Board, Panel, Table, Text
from exporter import catalog
from exporter.metric import Kind

each_board = pytest.mark.parametrize("uid", BOARDS)

KINDS: Final = {
    **{name: metric.kind for name, metric in catalog.BY_NAME.items()},
    **{metric.name: metric.kind for metric in external_metrics.ALL},
}
LABELS: Final = {
    **{name: set(metric.labels) | {"job", "instance"} for name, metric in catalog.BY_NAME.items()},
    **{metric.name: set(metric.labels) for metric in external_metrics.ALL},
}
GRAFANA_VARIABLES: Final = {"__rate_interval", "__interval", "__range"}
LEGEND_LABEL: Final = re.compile(r"{{\s*(\w+)\s*}}")
# The limit of `kubectl apply`, which writes the whole file into an annotation, is 256 KiB.
LARGEST_FILE: Final = 250_000
MOST_SERIES: Final = 20
TOPK: Final = re.compile(r"topk\((\d+),")
AGGREGATIONS: Final = ("max", "min", "sum", "count", "topk")


def metric_of(name: str) -> str:
    """The catalogue's name of a series: a histogram is read by its buckets."""
    family = name.removesuffix("_bucket")
    return family if KINDS.get(family) is Kind.HISTOGRAM else name


def all_selectors(uid: str) -> Iterator[tuple[Target, Selector]]:
    for target in targets(uid):
        for selector in selectors(target.expr):
            yield target, selector


def declared() -> list[tuple[Board, Panel]]:
    return [(board, panel) for board in all_boards(limits()) for panel in board.panels]


# --- queries --------------------------------------------------------------------------------------


@each_board
def test_every_query_parses(uid: str) -> None:
    for target in targets(uid):
        parsed(target.expr)


@each_board
def test_every_metric_is_known_and_has_the_labels_it_is_asked_by(uid: str) -> None:
    for target, selector in all_selectors(uid):
        name = metric_of(selector.name)
        assert name in KINDS, f"{target}: {name}"
        assert selector.labels <= LABELS[name], f"{target}: {name}"


@each_board
def test_every_label_grouped_by_or_in_a_legend_is_on_a_metric_of_the_query(uid: str) -> None:
    for target in targets(uid):
        known = {label for s in selectors(target.expr) for label in LABELS[metric_of(s.name)]}
        assert grouping_labels(target.expr) <= known | {"le"}, str(target)
        assert set(LEGEND_LABEL.findall(target.legend)) <= known | {"le"}, str(target)


@each_board
def test_a_counter_is_never_bare_and_a_gauge_never_rated(uid: str) -> None:
    for target, selector in all_selectors(uid):
        kind = KINDS[metric_of(selector.name)]
        rated = selector.calls[:1] in (("rate",), ("increase",))
        assert rated == (kind in (Kind.COUNTER, Kind.HISTOGRAM)), f"{target}: {selector.name}"


@each_board
def test_replicas_are_folded_before_anything_is_summed_over_range(uid: str) -> None:
    """The first aggregation around every series is a maximum or a minimum."""
    for target, selector in all_selectors(uid):
        around = [call for call in selector.calls if call in AGGREGATIONS]
        assert around[:1] in (["max"], ["min"]), f"{target}: {selector.name}"


@each_board
def test_every_choice_of_the_board_is_honoured(uid: str) -> None:
    chosen = set(variables(BOARDS[uid])) - {"datasource", "job"}
    for target, selector in all_selectors(uid):
        if metric_of(selector.name) in catalog.BY_NAME:
            wanted = chosen & LABELS[metric_of(selector.name)]
            assert wanted <= selector.labels, f"{target}: {selector.name}"


@each_board
def test_every_variable_in_a_query_is_one_of_the_board(uid: str) -> None:
    known = set(variables(BOARDS[uid])) | GRAFANA_VARIABLES
    for target in targets(uid):
        assert named_variables(target.expr) <= known, str(target)


@each_board
def test_where_a_board_begins_with_everything_a_graph_says_how_much_it_shows(uid: str) -> None:
    """Of what has a variable that begins with one value, there are few at first."""
    begins_with_one = {n for n, v in variables(BOARDS[uid]).items() if not v.get("includeAll")}
    for target in targets(uid):
        many = set(LEGEND_LABEL.findall(target.legend)) & {"stream", "consumer"} - begins_with_one
        # The consumers of one stream may be many too; alerts are few, or somebody is busy.
        if not many or "ALERTS" in target.expr:
            continue
        limits_named = [int(number) for number in TOPK.findall(target.expr)]
        assert limits_named, f"{target}: no topk"
        assert max(limits_named) <= MOST_SERIES, str(target)


# --- boards ---------------------------------------------------------------------------------------


def test_there_are_seven_boards() -> None:
    assert [path.stem for path in FILES] == [
        "sg-capacity",
        "sg-clocks",
        "sg-consumer",
        "sg-exporter",
        "sg-fleet",
        "sg-publish",
        "sg-stream",
    ]


@each_board
def test_a_uid_is_the_file_name_and_short_enough(uid: str) -> None:
    assert BOARDS[uid]["uid"] == uid
    assert len(uid) <= 40


@each_board
def test_ids_are_unique_within_a_board(uid: str) -> None:
    board = BOARDS[uid]
    rows = [each["id"] for each in board["panels"] if each["type"] == "row"]
    ids = rows + [panel["id"] for panel in panels(board)]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_can_be_applied_by_kubectl(path: Any) -> None:
    assert path.stat().st_size < LARGEST_FILE


@each_board
def test_the_crosshair_is_shared_and_the_time_is_the_readers(uid: str) -> None:
    board = BOARDS[uid]
    assert (board["graphTooltip"], board["timezone"], board["preload"]) == (1, "browser", False)
    assert board["refresh"] in ("30s", "1m", "5m")
    assert board["schemaVersion"] == 42
    assert board["title"].startswith("JetStream / ")
    assert set(board["tags"]) == {"jetstream", "streamgauge"}


@each_board
def test_no_data_source_is_named_anywhere(uid: str) -> None:
    found = set(re.findall(r'"uid": "([^"]+)"', json.dumps(BOARDS[uid])))
    assert found == {uid, "${datasource}", "-- Grafana --"}


@each_board
def test_the_first_row_has_at_most_eight_tiles_in_a_line(uid: str) -> None:
    top = [panel for panel in panels(BOARDS[uid]) if panel["gridPos"]["y"] == 1]
    assert len(top) <= 8


@each_board
def test_every_variable_is_scoped_by_those_before_it(uid: str) -> None:
    before: list[str] = ["datasource"]
    for name, variable in variables(BOARDS[uid]).items():
        if name in ("datasource", "job"):
            continue
        used = named_variables(variable["definition"])
        assert {"job"} <= used <= {"job", *before}, name
        assert variable["multi"] is True
        before.append(name)


def test_an_alert_is_no_shade_over_the_graphs_until_asked_for() -> None:
    for board in BOARDS.values():
        for annotation in board["annotations"]["list"]:
            if "ALERTS" in annotation.get("expr", ""):
                assert annotation["enable"] is False


@each_board
def test_every_annotation_is_a_query_that_parses_over_known_metrics(uid: str) -> None:
    for annotation in BOARDS[uid]["annotations"]["list"][1:]:
        for selector in selectors(annotation["expr"]):
            assert metric_of(selector.name) in KINDS


def test_elections_restarts_recreations_restores_and_purges_are_annotated() -> None:
    names = {each["name"] for each in BOARDS["sg-stream"]["annotations"]["list"]}
    assert names >= {
        "Elections",
        "Server restarts",
        "Streams recreated",
        "Consumers recreated",
        "Restores",
        "Purges",
        "Sequence went back",
    }


# --- links ----------------------------------------------------------------------------------------


def links(node: Any) -> list[str]:
    """Every address of a board, wherever it stands in the file."""
    if isinstance(node, dict):
        own = [node["url"]] if str(node.get("url", "")).startswith("/d/") else []
        return own + [url for value in node.values() for url in links(value)]
    if isinstance(node, list):
        return [url for value in node for url in links(value)]
    return []


ALL_LINKS: Final = sorted({(uid, url) for uid, board in BOARDS.items() for url in links(board)})


@pytest.mark.parametrize(("uid", "url"), ALL_LINKS)
def test_every_link_leads_to_a_board_and_fills_variables_that_it_has(uid: str, url: str) -> None:
    target, _, query = url.removeprefix("/d/").partition("?")
    there = variables(BOARDS[target])
    filled = re.findall(r"var-(\w+)=", query) + re.findall(r"\$\{(\w+):queryparam\}", query)
    assert set(filled) <= set(there)
    assert set(re.findall(r"\$\{(\w+):queryparam\}", query)) <= set(variables(BOARDS[uid]))
    assert "${__url_time_range}" in query
    assert "${datasource:queryparam}" in query


@pytest.mark.parametrize(("uid", "url"), ALL_LINKS)
def test_a_link_fills_every_variable_that_names_one_thing(uid: str, url: str) -> None:
    target, _, query = url.removeprefix("/d/").partition("?")
    needed = {name for name, each in variables(BOARDS[target]).items() if each.get("multi")}
    if target in ("sg-stream", "sg-consumer"):
        filled = re.findall(r"var-(\w+)=", query) + re.findall(r"\$\{(\w+):queryparam\}", query)
        assert needed - {"job"} <= set(filled), uid


def test_one_can_go_from_the_fleet_to_a_stream_to_a_consumer() -> None:
    ways = {(uid, url.split("?")[0].removeprefix("/d/")) for uid, url in ALL_LINKS}
    assert ways >= {
        ("sg-fleet", "sg-stream"),
        ("sg-fleet", "sg-consumer"),
        ("sg-stream", "sg-consumer"),
        ("sg-consumer", "sg-stream"),
    }


def test_the_menu_of_boards_keeps_time_and_choice() -> None:
    for board in BOARDS.values():
        (menu,) = board["links"]
        assert (menu["keepTime"], menu["includeVars"], menu["asDropdown"]) == (True, True, True)
        assert menu["tags"] == ["streamgauge"]


# --- thresholds and words -------------------------------------------------------------------------


def steps_of(panel: Panel) -> list[Step]:
    columns = panel.columns if isinstance(panel, Table) else ()
    return [*panel.steps, *(step for column in columns for step in column.steps)]


def test_every_number_at_which_a_colour_changes_is_one_of_the_alerts() -> None:
    named = 0
    for board, panel in declared():
        for step in steps_of(panel):
            if step.line is None:
                continue
            if step.line.threshold:
                known = thresholds.BY_NAME[step.line.threshold]
                assert step.line.value == known.value, f"{board.key}: {panel.title}"
                named += 1
            else:  # one, or none: nobody could choose another
                assert step.line.value in (0, 1), f"{board.key}: {panel.title}"
    assert named > 40


def test_the_thresholds_that_people_watch_are_drawn_somewhere() -> None:
    drawn = {
        step.line.threshold for _, panel in declared() for step in steps_of(panel) if step.line
    }
    text = "".join(path.read_text() for path in FILES)
    assert drawn >= {
        "snapshot_age", "consumer_stalled", "redelivery_ratio", "ack_pending_ratio",
        "ack_floor_gap_deliveries", "retention_headroom_ratio", "stream_full_ratio",
        "stream_filling_ratio", "forecast_horizon", "replica_lag", "source_silence",
        "publish_unstored_ratio", "dedupe_memory", "clock_offset", "server_storage_ratio",
        "api_error_ratio", "meta_pending", "account_high_ratio", "account_full_ratio",
        "archive_silence", "archive_wal_age", "rollup_age",
    }  # fmt: skip
    assert "10 x ack_wait" in text


@pytest.mark.parametrize(
    ("board", "panel"),
    [pytest.param(b, p, id=f"{b.key}: {p.title}") for b, p in declared()],
)
def test_every_panel_says_what_it_means_what_is_bad_and_what_to_do(
    board: Board, panel: Panel
) -> None:
    if isinstance(panel, Text):
        assert len(panel.content) > 100
        return
    for sentence in (panel.guide.means, panel.guide.bad, panel.guide.do):
        assert len(sentence) > 7, f"{board.key}: {panel.title}"
        assert sentence[0].isupper() or sentence[0] in "`0123456789", sentence
        assert sentence.endswith((".", "?", ")")), sentence


def mapped(board: Json) -> list[Json]:
    return [m for p in panels(board) for m in p["fieldConfig"]["defaults"].get("mappings", [])]


@each_board
def test_every_state_has_a_word_beside_its_colour(uid: str) -> None:
    for panel in panels(BOARDS[uid]):
        if panel["type"] == "state-timeline":
            assert panel["fieldConfig"]["defaults"]["mappings"], panel["title"]
    for mapping in mapped(BOARDS[uid]):
        assert all(word["text"] and word["color"] for word in mapping["options"].values())
