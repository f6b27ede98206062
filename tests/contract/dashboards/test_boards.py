"""The committed boards against the catalogue, the thresholds of the alerts and each other.

Each test checks all boards and lists what is wrong with its place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from support.grafana.boards import BOARDS, FILES, Json, Target, panels, targets, variables
from support.grafana.promql import Selector, grouping_labels, named_variables, parsed, selectors

from alerts import thresholds
from alerts.rules import RECORDINGS
from dashboards import external_metrics
from dashboards.boards.registry import all_boards
from dashboards.panels.colours import Step
from dashboards.panels.limits import limits
from dashboards.panels.model import Panel, Table, Text
from exporter import catalog
from exporter.metric import Kind

KINDS: Final = {
    **{name: metric.kind for name, metric in catalog.BY_NAME.items()},
    **{metric.name: metric.kind for metric in external_metrics.ALL},
}
LABELS: Final = {
    **{
        name: set(metric.labels) | {"cluster", "job", "instance"}
        for name, metric in catalog.BY_NAME.items()
    },
    **{metric.name: {*metric.labels, "cluster"} for metric in external_metrics.ALL},
    # The rules keep the labels of the scrape.
    **{each.record: {*each.value.labels, "cluster", "job"} for each in RECORDINGS},
}
GRAFANA_VARIABLES: Final = {"__rate_interval", "__interval", "__range"}
# The second argument of label_replace: a label that the query makes.
MADE_LABEL: Final = re.compile(r', "(\w+)", "[^"]*\$1", ')
LEGEND_LABEL: Final = re.compile(r"{{\s*(\w+)\s*}}")
# The limit of `kubectl apply`, which writes the whole file into an annotation, is 256 KiB.
LARGEST_FILE: Final = 250_000
MOST_SERIES: Final = 20
TOPK: Final = re.compile(r"topk\((\d+),")
AGGREGATIONS: Final = ("max", "min", "sum", "count", "topk")


def metric_of(name: str) -> str:
    """The catalogue's name of a series: a histogram is queried by its buckets."""
    family = name.removesuffix("_bucket")
    return family if KINDS.get(family) is Kind.HISTOGRAM else name


def all_targets() -> Iterator[Target]:
    for uid in BOARDS:
        yield from targets(uid)


def all_selectors() -> Iterator[tuple[Target, Selector]]:
    for target in all_targets():
        for selector in selectors(target.expr):
            yield target, selector


def declared() -> list[tuple[str, Panel]]:
    """Every panel with its place."""
    boards = all_boards(limits())
    return [(f"{board.key}: {panel.title}", panel) for board in boards for panel in board.panels]


# --- queries --------------------------------------------------------------------------------------


def test_every_query_parses() -> None:
    for target in all_targets():
        parsed(target.expr)


def test_every_recorded_series_is_one_of_our_rules() -> None:
    shown = {each.name for each in external_metrics.ALL if ":" in each.name}
    assert shown == {
        each.record for each in RECORDINGS if ":worst" in each.record or ":busiest" in each.record
    }


def test_no_query_of_the_fleet_folds_every_consumer_at_every_step() -> None:
    """Over hours only what is recorded, or exists while something is wrong."""
    wrong = [
        f"{target}: {selector.name}"
        for target in targets("sg-fleet")
        if not target.instant
        for selector in selectors(target.expr)
        if catalog.BY_NAME.get(selector.name) is not None
        and {"consumer", "stream"} & {*catalog.BY_NAME[selector.name].labels}
        and catalog.BY_NAME[selector.name] is not catalog.CONSUMER_CONDITION_START_TIMESTAMP_SECONDS
    ]
    assert wrong == []


def test_every_metric_exists_and_has_the_labels_of_its_matchers() -> None:
    wrong = []
    for target, selector in all_selectors():
        labels = LABELS.get(metric_of(selector.name))
        if labels is None or not selector.labels <= labels:
            wrong.append(f"{target}: {selector.name} {sorted(selector.labels)}")
    assert wrong == []


def test_every_label_in_a_grouping_or_legend_is_on_a_metric_of_the_query() -> None:
    wrong = []
    for target in all_targets():
        known = {label for s in selectors(target.expr) for label in LABELS[metric_of(s.name)]}
        used = grouping_labels(target.expr) | set(LEGEND_LABEL.findall(target.legend))
        if unknown := used - known - {"le", *MADE_LABEL.findall(target.expr)}:
            wrong.append(f"{target}: {sorted(unknown)}")
    assert wrong == []


EVENT_COUNTERS = {counter.name for counter in catalog.EVENT_TIMES}


def test_a_counter_has_a_rate_and_a_gauge_has_none() -> None:
    def rated(selector: Selector) -> bool:
        return selector.calls[:1] in (("rate",), ("increase",))

    counters = (Kind.COUNTER, Kind.HISTOGRAM)
    wrong = [
        f"{target}: {selector.name}"
        for target, selector in all_selectors()
        # The first value of an event counter is an event too.
        if selector.name not in EVENT_COUNTERS
        and rated(selector) != (KINDS[metric_of(selector.name)] in counters)
    ]
    assert wrong == []


def test_replicas_are_folded_before_a_sum() -> None:
    """The first aggregation around every series is a maximum or a minimum."""
    wrong = []
    for target, selector in all_selectors():
        around = [call for call in selector.calls if call in AGGREGATIONS]
        if around[:1] not in (["max"], ["min"]):
            wrong.append(f"{target}: {selector.name}")
    assert wrong == []


def test_every_selector_uses_the_variables_of_its_board() -> None:
    wrong = []
    for target, selector in all_selectors():
        name = metric_of(selector.name)
        chosen = set(variables(BOARDS[target.board])) - {"datasource", "job"}
        if name in catalog.BY_NAME and not chosen & LABELS[name] <= selector.labels:
            wrong.append(f"{target}: {selector.name}")
    assert wrong == []


def test_every_variable_in_a_query_is_one_of_the_board() -> None:
    wrong = []
    for target in all_targets():
        known = set(variables(BOARDS[target.board])) | GRAFANA_VARIABLES
        if unknown := named_variables(target.expr) - known:
            wrong.append(f"{target}: {sorted(unknown)}")
    assert wrong == []


def test_a_graph_of_many_assets_has_a_topk() -> None:
    """An asset with a variable that starts with one value has few series."""
    wrong = []
    for target in all_targets():
        start = variables(BOARDS[target.board]).items()
        single = {name for name, variable in start if not variable.get("includeAll")}
        many = set(LEGEND_LABEL.findall(target.legend)) & {"stream", "consumer"} - single
        if not many or "ALERTS" in target.expr:  # firing alerts are few
            continue
        counts = [int(number) for number in TOPK.findall(target.expr)]
        if not counts or max(counts) > MOST_SERIES:
            wrong.append(str(target))
    assert wrong == []


# --- boards ---------------------------------------------------------------------------------------


def test_a_uid_is_the_file_name_and_short_enough() -> None:
    assert [uid for uid, board in BOARDS.items() if board["uid"] != uid or len(uid) > 40] == []


def test_ids_are_unique_within_a_board() -> None:
    wrong = []
    for uid, board in BOARDS.items():
        rows = [each["id"] for each in board["panels"] if each["type"] == "row"]
        ids = rows + [panel["id"] for panel in panels(board)]
        if len(set(ids)) != len(ids):
            wrong.append(uid)
    assert wrong == []


def test_kubectl_can_apply_every_file() -> None:
    assert [path.name for path in FILES if path.stat().st_size >= LARGEST_FILE] == []


def test_boards_share_crosshair_timezone_title_and_tags() -> None:
    wrong = []
    for uid, board in BOARDS.items():
        shared = (board["graphTooltip"], board["timezone"], board["preload"])
        titled = board["title"].startswith("JetStream / ")
        tagged = set(board["tags"]) == {"jetstream", "streamgauge"}
        if shared != (1, "browser", False) or not titled or not tagged:
            wrong.append(uid)
    assert wrong == []


def test_no_board_names_a_data_source() -> None:
    for uid, board in BOARDS.items():
        found = set(re.findall(r'"uid": "([^"]+)"', json.dumps(board)))
        assert found == {uid, "${datasource}", "-- Grafana --"}, uid


def test_the_first_row_has_at_most_eight_tiles_in_a_line() -> None:
    first = {
        uid: [panel for panel in panels(board) if panel["gridPos"]["y"] == 1]
        for uid, board in BOARDS.items()
    }
    assert [uid for uid, line in first.items() if len(line) > 8] == []


def test_every_variable_is_scoped_by_those_before_it() -> None:
    wrong = []
    for uid, board in BOARDS.items():
        before = {"job"}
        for name, variable in variables(board).items():
            if name in ("datasource", "job"):
                continue
            used = named_variables(variable["definition"])
            # What is hidden is no choice, but an address for links.
            several = variable["multi"] is (variable["hide"] == 0)
            if not {"job"} <= used <= before or not several:
                wrong.append(f"{uid}: {name}")
            before.add(name)
    assert wrong == []


def test_all_clusters_include_series_without_the_label() -> None:
    chosen = {uid: variables(board)["cluster"] for uid, board in BOARDS.items()}
    assert {each["allValue"] for each in chosen.values()} == {".*"}
    assert {each["current"]["value"][0] for each in chosen.values()} == {"$__all"}


def annotations() -> Iterator[tuple[str, Json]]:
    """Without the built-in one of Grafana."""
    for uid, board in BOARDS.items():
        for annotation in board["annotations"]["list"][1:]:
            yield f"{uid}: {annotation['name']}", annotation


def test_alert_annotations_are_disabled_by_default() -> None:
    alerts = [(place, each) for place, each in annotations() if "ALERTS" in each["expr"]]
    assert [place for place, each in alerts if each["enable"]] == []
    assert alerts


def test_every_annotation_queries_known_metrics() -> None:
    wrong = [
        f"{place}: {selector.name}"
        for place, annotation in annotations()
        for selector in selectors(annotation["expr"])
        if metric_of(selector.name) not in KINDS
    ]
    assert wrong == []


# --- links ----------------------------------------------------------------------------------------


def links(node: Any) -> list[str]:
    """Every address of a board in the file."""
    if isinstance(node, dict):
        own = [node["url"]] if str(node.get("url", "")).startswith("/d/") else []
        return own + [url for value in node.values() for url in links(value)]
    if isinstance(node, list):
        return [url for value in node for url in links(value)]
    return []


ALL_LINKS: Final = sorted({(uid, url) for uid, board in BOARDS.items() for url in links(board)})
QUERY_PARAMETER: Final = re.compile(r"\$\{(\w+):queryparam\}")


def set_variables(url: str) -> set[str]:
    return {*re.findall(r"var-(\w+)=", url), *QUERY_PARAMETER.findall(url)}


def target_of(url: str) -> str:
    return url.removeprefix("/d/").partition("?")[0]


def test_every_link_opens_a_board_and_sets_variables_that_it_has() -> None:
    wrong = []
    for uid, url in ALL_LINKS:
        there = variables(BOARDS[target_of(url)]) if target_of(url) in BOARDS else {}
        kept = "${__url_time_range}" in url and "${datasource:queryparam}" in url
        passed_on = set(QUERY_PARAMETER.findall(url)) <= set(variables(BOARDS[uid]))
        if not set_variables(url) <= set(there) or not kept or not passed_on:
            wrong.append(f"{uid}: {url}")
    assert wrong == []


def test_a_link_to_a_board_about_one_asset_sets_all_its_variables() -> None:
    wrong = []
    for uid, url in ALL_LINKS:
        there = variables(BOARDS[target_of(url)]).items()
        about_one = any(each.get("multi") and not each.get("includeAll") for _, each in there)
        needed = {name for name, each in there if each.get("multi")} - {"job"}
        if about_one and not needed <= set_variables(url):
            wrong.append(f"{uid}: {url}")
    assert wrong == []


def test_links_lead_from_the_fleet_to_a_stream_to_a_consumer() -> None:
    ways = {(uid, target_of(url)) for uid, url in ALL_LINKS}
    assert ways >= {
        ("sg-fleet", "sg-stream"),
        ("sg-fleet", "sg-consumer"),
        ("sg-stream", "sg-consumer"),
        ("sg-consumer", "sg-stream"),
    }


def test_the_menu_of_boards_keeps_time_range_and_variables() -> None:
    for uid, board in BOARDS.items():
        (menu,) = board["links"]
        kept = (menu["keepTime"], menu["includeVars"], menu["asDropdown"])
        assert (*kept, menu["tags"]) == (True, True, True, ["streamgauge"]), uid


# --- thresholds and texts -------------------------------------------------------------------------


def steps_of(panel: Panel) -> list[Step]:
    columns = panel.columns if isinstance(panel, Table) else ()
    return [*panel.steps, *(step for column in columns for step in column.steps)]


def test_colours_change_at_thresholds_of_the_alerts() -> None:
    wrong = []
    for place, panel in declared():
        for line in (step.line for step in steps_of(panel) if step.line is not None):
            known = thresholds.BY_NAME[line.threshold].value if line.threshold else None
            # Without a threshold: a constant, 0 or 1.
            if line.value not in ((0, 1) if known is None else (known,)):
                wrong.append(f"{place}: {line}")
    assert wrong == []


def test_every_panel_has_a_meaning_what_is_bad_and_what_to_do() -> None:
    wrong = []
    for place, panel in declared():
        guide = panel.guide
        texts = (panel.content,) if isinstance(panel, Text) else (guide.means, guide.bad, guide.do)
        if not all(text.strip() for text in texts):
            wrong.append(place)
    assert wrong == []


def _results(mapping: Json) -> list[Json]:
    options = mapping["options"]
    return [options["result"]] if mapping["type"] == "special" else list(options.values())


def test_every_state_has_a_text_beside_its_colour() -> None:
    wrong = []
    for uid, board in BOARDS.items():
        for panel in panels(board):
            mappings = panel["fieldConfig"]["defaults"].get("mappings", [])
            values = [each for mapping in mappings for each in _results(mapping)]
            if panel["type"] == "state-timeline" and not mappings:
                wrong.append(f"{uid}: {panel['title']}")
            if not all(each["text"] and each["color"] for each in values):
                wrong.append(f"{uid}: {panel['title']}")
    assert wrong == []
