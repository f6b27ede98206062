"""Boards against the JSON Schemas of Grafana's own types; what they cannot know is listed here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from jsonschema import Draft7Validator  # type: ignore[import-untyped]
from jsonschema.exceptions import ValidationError  # type: ignore[import-untyped]
from support.grafana.boards import Json, panels
from support.grafana.recorded import schema

# Fields that Grafana writes and reads, and that its types leave to plugins; each with its reason.
ALLOWED: Final = {
    ("AnnotationQuery", "expr"): "the query of Prometheus' annotations, read by its plugin",
    ("AnnotationQuery", "step"): "their least step, read by its plugin",
    ("AnnotationQuery", "titleFormat"): "their text, read by its plugin",
    ("AnnotationQuery", "useValueForTime"): "the value is the time, read by its plugin",
    ("VariableModel", "definition"): "what the list of variables shows, written by Grafana itself",
    ("VariableOption", "text"): "nothing is chosen yet: Grafana takes the first value",
    ("VariableOption", "value"): "nothing is chosen yet: Grafana takes the first value",
}


def faults(board: Json) -> Iterator[str]:
    """The board without its panels, then every panel, its options and its look by themselves."""
    body = {key: value for key, value in board.items() if key != "panels"}
    yield from _errors("dashboard", "Dashboard", body, "board")
    for panel in board["panels"]:
        if panel["type"] == "row":
            row = panel | {"panels": []}
            yield from _errors("dashboard", "RowPanel", row, f"row {panel['title']}")
    for panel in panels(board):
        yield from _panel_faults(panel)


def _panel_faults(panel: Json) -> Iterator[str]:
    where, kind = f"panel {panel['title']}", panel["type"]
    yield from _errors("dashboard", "Panel", panel, where)
    yield from _errors(kind, "Options", panel["options"], f"{where}: options")
    custom = panel["fieldConfig"]["defaults"].get("custom")
    if custom is not None:
        yield from _errors(kind, "FieldConfig", custom, f"{where}: custom")


def _errors(name: str, kind: str, value: Any, where: str) -> Iterator[str]:
    whole = schema(name).get(kind)
    if whole is None:
        yield f"{where}: Grafana knows no {kind} of {name}"
        return
    for error in Draft7Validator(whole).iter_errors(value):
        for leaf in _leaves(error):
            if not _is_allowed(leaf):
                path = ".".join(map(str, leaf.absolute_path))
                yield f"{where}: {path}: {leaf.message[:160]}"


def _leaves(error: ValidationError) -> Iterator[ValidationError]:
    """Of alternatives that all fail, the one that fails least."""
    if not error.context:
        yield error
        return
    branches: dict[int, list[ValidationError]] = {}
    for each in error.context:
        branches.setdefault(int(each.schema_path[0]), []).append(each)
    yield from (leaf for each in min(branches.values(), key=len) for leaf in _leaves(each))


def _is_allowed(error: ValidationError) -> bool:
    if error.validator == "additionalProperties":
        extra = set(error.instance) - set(error.schema.get("properties", {}))
        return all(any(field == name for _, name in ALLOWED) for field in extra)
    nothing_chosen = error.validator == "required" and error.instance == {}
    return bool(nothing_chosen and error.absolute_path[-1] == "current")
