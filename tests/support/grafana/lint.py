"""The Prometheus rules of Grafana's dashboard-linter, ported: each names what it demands and where."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from support.grafana.boards import Json, panels, variables
from support.grafana.promql import RATE_INTERVAL_SECONDS, filled, parsed, selectors

Fault = tuple[str, str]  # the panel or variable, and what is wrong there
Rule = Callable[[Json, set[str]], Iterator[Fault]]

_TEMPLATED: Final = ("${datasource}", "$datasource")
_DESCRIBED: Final = ("stat", "singlestat", "graph", "table", "timeseries", "gauge")
_WITH_SOURCE: Final = ("singlestat", "graph", "table", "timeseries")
_RATED: Final = ("rate", "irate", "increase")
_LABEL_VALUES: Final = re.compile(r"^label_values\((?:(.+),\s*)?\w+\)$")


# --- variables ------------------------------------------------------------------------------------


def template_datasource(board: Json, _: set[str]) -> Iterator[Fault]:
    found = [v for v in variables(board).values() if v["type"] == "datasource"]
    if len(found) != 1 or found[0]["name"] not in ("datasource", "prometheus_datasource"):
        yield "datasource", "there must be one variable of this type and name"
    elif found[0].get("label") != "Data source" or found[0]["query"] != "prometheus":
        yield "datasource", "its label is Data source, its query prometheus"


def _template_of(name: str, label: str) -> Rule:
    def rule(board: Json, _: set[str]) -> Iterator[Fault]:
        variable = variables(board).get(name)
        if variable is None:
            yield name, "the variable is missing"
            return
        demands = {
            "type": variable["type"] == "query",
            "data source": variable["datasource"]["uid"] in _TEMPLATED,
            "label": variable.get("label") == label,
            "multi": variable.get("multi") is True,
            "allValue": variable.get("allValue") == ".+",
        }
        yield from ((name, f"its {what} is wrong") for what, met in demands.items() if not met)

    return rule


def _queries(board: Json) -> Iterator[tuple[str, str, Json]]:
    for name, variable in variables(board).items():
        if variable["type"] == "query":
            query = variable["query"]
            yield name, query["query"] if isinstance(query, dict) else query, variable


def template_label_promql(board: Json, _: set[str]) -> Iterator[Fault]:
    for name, query, _variable in _queries(board):
        found = _LABEL_VALUES.match(query)
        if found is None:
            yield name, f"{query} is not label_values(selector, label)"
        elif found[1] and (why := _unparsable(found[1])):
            yield name, why


def template_on_time_change_reload(board: Json, _: set[str]) -> Iterator[Fault]:
    for name, _query, variable in _queries(board):
        if variable["refresh"] != 2:
            yield name, "must refresh when the time range changes"


# --- panels ---------------------------------------------------------------------------------------


def panel_datasource(board: Json, _: set[str]) -> Iterator[Fault]:
    for panel in panels(board):
        if panel["type"] in _WITH_SOURCE and panel["datasource"]["uid"] not in _TEMPLATED:
            yield panel["title"], "its data source is not the variable"


def panel_title_description(board: Json, _: set[str]) -> Iterator[Fault]:
    for panel in panels(board):
        if panel["type"] in _DESCRIBED and not (panel.get("title") and panel.get("description")):
            yield panel.get("title", "?"), "has no title or no description"


def panel_units(board: Json, units: set[str]) -> Iterator[Fault]:
    for panel in panels(board):
        defaults = panel.get("fieldConfig", {}).get("defaults", {})
        if panel["type"] not in _DESCRIBED or defaults.get("mappings"):
            continue
        if defaults.get("unit") not in units:
            yield panel["title"], f"unit {defaults.get('unit')!r} is not one of Grafana's"


def panel_no_targets(board: Json, _: set[str]) -> Iterator[Fault]:
    for panel in panels(board):
        if panel["type"] in _DESCRIBED and not panel.get("targets"):
            yield panel["title"], "has no query"


def uneditable(board: Json, _: set[str]) -> Iterator[Fault]:
    if board["editable"] is not False:
        yield board["title"], "must not be editable: it is provisioned"


# --- targets --------------------------------------------------------------------------------------


def _exprs(board: Json) -> Iterator[tuple[str, str]]:
    for panel in panels(board):
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]


def target_promql(board: Json, _: set[str]) -> Iterator[Fault]:
    for title, expr in _exprs(board):
        if why := _unparsable(expr):
            yield title, why


def target_rate_interval(board: Json, _: set[str]) -> Iterator[Fault]:
    for title, expr in _exprs(board):
        for each in selectors(expr):
            if each.calls[:1] in (("rate",), ("irate",)) and each.window != RATE_INTERVAL_SECONDS:
                yield title, f"{each.name}: the window of a rate is $__rate_interval"


def _target_has(label: str) -> Rule:
    def rule(board: Json, _: set[str]) -> Iterator[Fault]:
        for title, expr in _exprs(board):
            for each in selectors(expr):
                if (label, "=~", f"VAR_{label}") not in each.matchers:
                    yield title, f'{each.name}: has no {label}=~"${label}"'

    return rule


def target_counter_agg(board: Json, _: set[str]) -> Iterator[Fault]:
    for title, expr in _exprs(board):
        for each in selectors(expr):
            if each.name.endswith("_total") and each.calls[:1] not in [(r,) for r in _RATED]:
                yield title, f"{each.name}: a counter without rate or increase"


def _unparsable(expr: str) -> str | None:
    try:
        parsed(expr)
    except ValueError as error:
        return f"{filled(expr)}: {error}"
    return None


RULES: Final[dict[str, Rule]] = {
    "template-datasource-rule": template_datasource,
    "template-job-rule": _template_of("job", "Job"),
    "template-instance-rule": _template_of("instance", "Instance"),
    "template-label-promql-rule": template_label_promql,
    "template-on-time-change-reload-rule": template_on_time_change_reload,
    "panel-datasource-rule": panel_datasource,
    "panel-title-description-rule": panel_title_description,
    "panel-units-rule": panel_units,
    "panel-no-targets-rule": panel_no_targets,
    "target-promql-rule": target_promql,
    "target-rate-interval-rule": target_rate_interval,
    "target-job-rule": _target_has("job"),
    "target-instance-rule": _target_has("instance"),
    "target-counter-agg-rule": target_counter_agg,
    "uneditable-dashboard": uneditable,
}


def faults(rule: str, board: Json, units: set[str], excluded: Any) -> list[str]:
    """What the rule finds, without what the exclusions name; None excludes nothing."""
    found = [f"{where}: {what}" for where, what in RULES[rule](board, units)]
    if excluded is None:
        return found
    entries = excluded.get("entries")
    if entries is None:
        return []
    here = [entry for entry in entries if entry["dashboard"] == board["title"]]
    if any("panel" not in entry for entry in here):  # a fault of the board, not of a panel
        return []
    spared = {entry["panel"] for entry in here}
    return [fault for fault in found if fault.partition(":")[0] not in spared]
