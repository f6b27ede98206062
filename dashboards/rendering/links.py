"""Links from a series or a table row to another board, with time range and variables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dashboards.panels.model import Board, Link, Panel, StatusPage, Table, Target, Within
from dashboards.rendering.layout import panel_id
from streamgauge.promql.expression import Labels

_KEPT = ("datasource", "job", "cluster")  # every board of ours has these
_TITLES = {
    Target.FLEET: "Fleet",
    Target.STREAM: "Stream ${%s}",
    Target.CONSUMER: "Why is ${%s} stuck?",
    Target.PUBLISH: "Publishing into ${%s}",
    Target.CAPACITY: "Capacity and forecast",
    Target.SERVERS: "Server ${%s}",
    Target.CLOCKS: "Clocks",
    Target.EXPORTER: "Exporter and pipeline",
}


def column_title(label: str) -> str:
    """The title of the column of a label."""
    return label.replace("_", " ").capitalize()


def panel_links(panel: Panel, board: Board, prefix: str) -> list[dict[str, Any]]:
    """For the fields of the panel."""
    if isinstance(panel, Table):
        return []  # a table has them at the columns that name the target
    return [_panel_link(link, panel, board, prefix) for link in panel.links]


def _panel_link(link: Link, panel: Panel, board: Board, prefix: str) -> dict[str, Any]:
    if isinstance(link, Within):
        return _inner_link(link, board, prefix)
    if isinstance(link, StatusPage):
        return {"title": "Status page of the exporter", "url": "${exporter}/", "targetBlank": True}
    return _link(link, _labels_of(panel), board, prefix, "__field.labels")


def _inner_link(link: Within, board: Board, prefix: str) -> dict[str, Any]:
    kept = ("datasource", *(variable.name for variable in board.variables))
    parameters = "&".join(f"${{{name}:queryparam}}" for name in kept)
    shown = f"${{__url_time_range}}&viewPanel={panel_id(link.title)}"
    url = f"/d/{prefix}{board.key}?{parameters}&{shown}"
    return {"title": link.title, "url": url, "targetBlank": False}


def runbook_link(address: str, name: str) -> dict[str, Any]:
    """`address`: of the folder of the runbooks; without it they are pages of the exporter."""
    page = f"{address.rstrip('/')}/{name}.md" if address else f"${{exporter}}/docs/runbooks/{name}"
    return {"title": f"Runbook of {name}", "url": page, "targetBlank": True}


def row_link(target: Target, table: Table, board: Board, prefix: str) -> dict[str, Any]:
    return _link(target, table.identity, board, prefix, "__data.fields")


def _labels_of(panel: Panel) -> Labels:
    """The labels that every series of the panel has."""
    carried = [set(query.expr.labels) for query in panel.queries]
    common = set.intersection(*carried) if carried else set()
    return tuple(label for label in panel.queries[0].expr.labels if label in common)


def _link(target: Target, labels: Labels, board: Board, prefix: str, place: str) -> dict[str, Any]:
    chosen = {variable.name for variable in board.variables}
    parameters = [f"${{{name}:queryparam}}" for name in _KEPT if name in {"datasource", *chosen}]
    parameters += _filled(target.variables, labels, chosen, place)
    url = f"/d/{prefix}{target.value}?{'&'.join(parameters)}&${{__url_time_range}}"
    return {"title": _title(target, labels, place), "url": url, "targetBlank": False}


def _filled(
    wanted: Iterable[str], labels: Sequence[str], chosen: set[str], place: str
) -> list[str]:
    """From the labels of the series, else from the variables of this board."""
    filled = []
    for name in wanted:
        if name in labels:
            filled.append(f"var-{name}=${{{_field(place, name)}}}")
        elif name in chosen:
            filled.append(f"${{{name}:queryparam}}")
    return filled


def _field(place: str, label: str) -> str:
    return f"{place}.{column_title(label) if place == '__data.fields' else label}"


def _title(target: Target, labels: Sequence[str], place: str) -> str:
    title = _TITLES[target]
    if "%s" not in title:
        return title
    named = target.variables[-1]
    if named not in labels:
        return target.value.capitalize()
    return title % _field(place, named)
