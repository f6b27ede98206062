"""Boards as the classic JSON of Grafana. The only module that imports grafanalib."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from grafanalib import core as g  # type: ignore[import-untyped]
from grafanalib._gen import DashboardEncoder  # type: ignore[import-untyped]

from dashboards.panels.empty_timelines import with_reason
from dashboards.panels.model import (
    Annotation,
    BarGauge,
    Board,
    Heatmap,
    Panel,
    Query,
    Stat,
    StateTimeline,
    Table,
    Text,
    TimeSeries,
    Variable,
)
from dashboards.rendering import fields, tables
from dashboards.rendering.describe import board_description, panel_description
from dashboards.rendering.fields import Json
from dashboards.rendering.layout import Place, PlacedRow, panel_id, placed
from dashboards.rendering.links import panel_links, runbook_link
from dashboards.rendering.normalise import normalised
from dashboards.rendering.tables import query_letter

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
DOMAIN_TAG = "jetstream"
TITLE_PREFIX = "JetStream / "


@dataclass(frozen=True, slots=True)
class Naming:
    """Names and addresses that the user may choose."""

    uid_prefix: str = "sg-"
    tag: str = "streamgauge"
    datasource: str = "default"  # the default data source; `default` is that of Grafana
    runbooks: str = ""  # address of the runbooks; without it they are pages of the exporter


def render(board: Board, naming: Naming) -> Json:
    """The same bytes for the same board, always."""
    dashboard = g.Dashboard(
        title=TITLE_PREFIX + board.title,
        uid=naming.uid_prefix + board.key,
        description=board_description(board),
        tags=[DOMAIN_TAG, naming.tag],
        links=_board_links(naming),
        editable=False,
        graphTooltip=g.GRAPH_TOOLTIP_MODE_SHARED_CROSSHAIR,
        refresh=board.refresh,
        time=g.Time(
            f"now-{board.hours}h" if board.hours < 48 else f"now-{board.hours // 24}d", "now"
        ),
        timezone="browser",
        templating=g.Templating([_datasource(naming), *(map(_variable, board.variables))]),
        annotations=g.Annotations([_built_in(), *(map(_annotation, board.annotations))]),
        panels=[each for row in placed(board) for each in _row(row, board, naming)],
    )
    return normalised(json.loads(json.dumps(dashboard.to_json_data(), cls=DashboardEncoder)))


# --- rows and panels ------------------------------------------------------------------------------


def _row(row: PlacedRow, board: Board, naming: Naming) -> list[Any]:
    panels = [_panel(panel, place, board, naming) for panel, place in row.panels]
    header = g.RowPanel(
        id=panel_id(f"row {row.row.title}"),
        title=row.row.title,
        gridPos=_grid(row.place),
        collapsed=row.row.collapsed,
        panels=panels if row.row.collapsed else [],
    )
    return [header] if row.row.collapsed else [header, *panels]


def _panel(panel: Panel, place: Place, board: Board, naming: Naming) -> Any:
    links = panel_links(panel, board, naming.uid_prefix)
    if isinstance(panel, StateTimeline):
        panel = with_reason(panel)
    if panel.about_alerts:
        links.append(runbook_link(naming.runbooks, "${__field.labels.alertname}"))
    envelope = {
        "title": panel.title,
        "description": panel_description(panel),
        "id": panel_id(panel.title),
        "gridPos": _grid(place),
        "dataSource": SOURCE,
        "targets": _targets(panel),
        "maxDataPoints": None,
        "interval": board.least_interval or None,
    }
    if isinstance(panel, Table):
        return _table(panel, envelope, board, naming)
    return _drawn(panel, envelope, links)


@singledispatch
def _drawn(panel: Panel, _envelope: Json, _links: list[Json]) -> Any:
    raise TypeError(f"{panel.title}: Grafana has no panel for a {type(panel).__name__}")


@_drawn.register
def _(panel: TimeSeries, envelope: Json, links: list[Json]) -> Any:
    defaults = fields.defaults(panel, links) | fields.time_series_defaults(panel)
    options = fields.time_series_options(panel)
    extra = _extra(defaults, options, fields.overrides(panel.overrides))
    return g.TimeSeries(**envelope, extraJson=extra)


@_drawn.register
def _(panel: Stat, envelope: Json, links: list[Json]) -> Any:
    defaults = fields.defaults(panel, links) | fields.stat_defaults(panel)
    return g.Stat(**envelope, extraJson=_extra(defaults, fields.stat_options(panel)))


@_drawn.register
def _(panel: BarGauge, envelope: Json, links: list[Json]) -> Any:
    defaults = fields.defaults(panel, links) | fields.bar_gauge_defaults(panel)
    return g.BarGauge(**envelope, extraJson=_extra(defaults, fields.bar_gauge_options()))


@_drawn.register
def _(panel: StateTimeline, envelope: Json, links: list[Json]) -> Any:
    defaults = fields.defaults(panel, links) | fields.state_timeline_defaults(panel)
    options = fields.state_timeline_options(panel)
    return g.StateTimeline(**envelope, extraJson=_extra(defaults, options))


@_drawn.register
def _(panel: Heatmap, envelope: Json, links: list[Json]) -> Any:
    defaults = fields.defaults(panel, links) | fields.heatmap_defaults(panel)
    extra = _extra(defaults, {})
    # The class has a list here, which the merge would not replace by a dictionary.
    return g.Heatmap(**envelope, options=fields.heatmap_options(panel), extraJson=extra)


@_drawn.register
def _(panel: Text, envelope: Json, _links: list[Json]) -> Any:
    options = {"code": {"language": "plaintext", "showLineNumbers": False, "showMiniMap": False}}
    return g.Text(**envelope, content=panel.content, extraJson={"options": options})


def _table(table: Table, envelope: Json, board: Board, naming: Naming) -> Any:
    defaults = fields.defaults(table, []) | tables.table_defaults()
    overrides = tables.table_overrides(table, board, naming.uid_prefix, naming.runbooks)
    return g.Table(
        **envelope,
        transformations=tables.transformations(table),
        extraJson=_extra(defaults, tables.table_options(table), overrides),
    )


def _extra(defaults: Json, options: Json, overrides: list[Json] | None = None) -> Json:
    field_config = {"defaults": defaults, "overrides": overrides or []}
    return (
        {"fieldConfig": field_config, "options": options}
        if options
        else {"fieldConfig": field_config}
    )


def _grid(place: Place) -> Any:
    return g.GridPos(h=place.h, w=place.w, x=place.x, y=place.y)


# --- queries --------------------------------------------------------------------------------------


def _targets(panel: Panel) -> list[Any]:
    if isinstance(panel, Table):
        return [
            _target(Query(column.expr), index, instant=True, form="table")
            for index, column in enumerate(panel.columns)
        ]
    form = "heatmap" if isinstance(panel, Heatmap) else "time_series"
    instant = isinstance(panel, Stat | BarGauge)
    return [_target(q, i, instant=instant, form=form) for i, q in enumerate(panel.queries)]


def _target(query: Query, index: int, *, instant: bool, form: str) -> Any:
    return g.Target(
        expr=str(query.expr),
        legendFormat=query.legend,
        refId=query_letter(index),
        datasource=SOURCE,
        instant=instant,
        format=form,
    )


# --- variables, annotations, links ----------------------------------------------------------------


def _datasource(naming: Naming) -> Any:
    return g.Template(
        name="datasource",
        label="Data source",
        type="datasource",
        query="prometheus",
        default=naming.datasource,
        refresh=g.REFRESH_ON_DASHBOARD_LOAD,
    )


def _variable(variable: Variable) -> Any:
    return g.Template(
        name=variable.name,
        label=variable.label,
        query=variable.query,
        dataSource=SOURCE,
        multi=not variable.hidden,
        includeAll=variable.all_values,
        allValue=variable.all_value if variable.all_values else None,
        default="$__all" if variable.all_values else None,
        refresh=g.REFRESH_ON_TIME_RANGE_CHANGE,
        regex=variable.regex or None,
        hide=g.HIDE_VARIABLE if variable.hidden else g.SHOW,
        sort=g.SORT_ALPHA_IGNORE_CASE_ASC,
    )


def _built_in() -> Json:
    """Grafana adds this annotation itself; with it the file is unchanged after an import."""
    return {
        "builtIn": 1,
        "datasource": {"type": "grafana", "uid": "-- Grafana --"},
        "enable": True,
        "hide": True,
        "iconColor": "rgba(0, 211, 255, 1)",
        "name": "Annotations & Alerts",
        "type": "dashboard",
    }


def _annotation(annotation: Annotation) -> Json:
    return {
        "datasource": SOURCE,
        "enable": annotation.enabled,
        "expr": str(annotation.expr),
        "hide": False,
        "iconColor": annotation.colour,
        "name": annotation.name,
        "step": "60s",
        "titleFormat": annotation.title,
        "useValueForTime": annotation.value_is_time,
    }


def _board_links(naming: Naming) -> list[Any]:
    """A menu of all boards, which keeps the time range and the variables."""
    return [
        g.DashboardLink(
            title="JetStream",
            tags=[naming.tag],
            asDropdown=True,
            includeVars=True,
            keepTime=True,
            type="dashboards",
        )
    ]
