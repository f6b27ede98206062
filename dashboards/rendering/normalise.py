"""The output of grafanalib in the form of Grafana 13: known keys only, no nulls."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

SCHEMA_VERSION = 42
# Options have the form of this version; newer ones migrate from it.
PLUGIN_VERSION = "10.4.0"

_BOARD = (
    "annotations", "description", "editable", "graphTooltip", "links", "refresh", "tags",
    "templating", "time", "timezone", "title", "uid",
)  # fmt: skip
_PANEL = (
    "datasource", "description", "fieldConfig", "gridPos", "id", "interval", "options", "targets", "title",
    "transformations", "type",
)  # fmt: skip
# Keys that grafanalib adds for Grafana 6 and older.
_OLD_OPTIONS = ("fieldOptions", "showThresholdLabels", "showThresholdMarkers")
_OLD_CUSTOM = ("displayMode",)
_ROW = ("collapsed", "gridPos", "id", "title", "type")
_VARIABLE = (
    "allValue", "datasource", "hide", "includeAll", "label", "multi", "name", "refresh", "sort",
    "type",
)  # fmt: skip


def normalised(raw: Json) -> Json:
    board = _kept(raw, _BOARD)
    board["templating"] = {"list": [_variable(each) for each in raw["templating"]["list"]]}
    board["panels"] = [_panel(each) for each in raw["panels"]]
    board |= {
        "fiscalYearStartMonth": 0,
        "preload": False,
        "schemaVersion": SCHEMA_VERSION,
        "timepicker": {},
        "weekStart": "",
    }
    return board


def _panel(raw: Json) -> Json:
    if raw["type"] == "row":
        row = _kept(raw, _ROW)
        return row | {"panels": [_panel(each) for each in raw["panels"]]}
    panel = _kept(raw, _PANEL) | {"pluginVersion": PLUGIN_VERSION}
    panel["targets"] = [_target(each) for each in raw["targets"]]
    panel["fieldConfig"] = _field_config(raw["fieldConfig"])
    panel["options"] = _without(raw["options"], _OLD_OPTIONS)
    if raw["type"] == "text":  # it has no queries
        for key in ("targets", "datasource", "fieldConfig"):
            del panel[key]
        panel["fieldConfig"] = {"defaults": {}, "overrides": []}
    if not panel.get("transformations"):
        panel.pop("transformations", None)
    return panel


def _field_config(raw: Json) -> Json:
    defaults = _without(raw["defaults"])
    if "custom" in defaults:
        defaults["custom"] = _without(defaults["custom"], _OLD_CUSTOM)
    return {"defaults": defaults, "overrides": raw.get("overrides", [])}


def _target(raw: Json) -> Json:
    instant = raw["instant"]
    target = {
        "datasource": raw["datasource"],
        "editorMode": "code",
        "expr": raw["expr"],
        "format": raw["format"],
        "instant": instant,
        "range": not instant,
        "refId": raw["refId"],
    }
    return target | ({"legendFormat": raw["legendFormat"]} if raw["legendFormat"] else {})


def _variable(raw: Json) -> Json:
    variable = _kept(raw, _VARIABLE)
    variable["current"] = _current(raw)
    variable["options"] = []
    if raw["type"] == "datasource":
        return variable | {"query": raw["query"], "regex": ""}
    query = {
        "qryType": 3 if raw["query"].startswith("query_result(") else 1,
        "query": raw["query"],
        "refId": "PrometheusVariableQueryEditor-VariableQuery",
    }
    return variable | {"definition": raw["query"], "query": query, "regex": raw["regex"] or ""}


def _current(raw: Json) -> Json:
    chosen = raw["current"]["value"]
    if chosen is None:
        return {}  # Grafana takes the first value
    if chosen == "$__all":
        return {"text": ["All"], "value": ["$__all"]}
    return {"text": chosen, "value": chosen}


def _without(raw: Json, keys: tuple[str, ...] = ()) -> Json:
    """Without these keys and without nulls; nulls of thresholds are deeper and stay."""
    return {key: value for key, value in raw.items() if key not in keys and value is not None}


def _kept(raw: Json, keys: tuple[str, ...]) -> Json:
    return {key: raw[key] for key in keys if raw.get(key) is not None}
