"""Grafana's field and panel options as plain dictionaries: thresholds, mappings, overrides, legends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dashboards.panels.colours import UNKNOWN, Step, ValueMapping, plain
from dashboards.panels.model import (
    LEGEND_LABEL,
    BarGauge,
    Heatmap,
    Override,
    Panel,
    Stat,
    StateTimeline,
    TimeSeries,
)

Json = dict[str, Any]

_LEGEND_CALCS = ["lastNotNull"]
_WIDE = 12  # of 24 columns
_LEGEND_WIDTH = 240
# In pixels: a line of the grid; header, axis and page numbers; the least height of a row.
_GRID_LINE, _AROUND_ROWS, _READABLE_ROW = 38, 104, 18
_HIDE_FROM = {"legend": False, "tooltip": False, "viz": False}
_TOOLTIP = {"hideZeros": False, "mode": "multi", "sort": "desc"}


def thresholds(steps: Iterable[Step]) -> Json:
    values = [{"color": step.colour, "value": step.value} for step in steps]
    return {"mode": "absolute", "steps": values}


def mappings(mapping: ValueMapping | None) -> list[Json]:
    if mapping is None:
        return []
    options = {
        str(each.value): {"text": each.text, "color": each.colour, "index": index}
        for index, each in enumerate(mapping.values)
    }
    return [{"type": "value", "options": options}]


def defaults(panel: Panel, links: list[Json]) -> Json:
    """What all kinds of panels share."""
    shared: Json = {
        "unit": panel.unit,
        "noValue": panel.no_value,
        "color": {"mode": "thresholds"},
        "thresholds": thresholds(panel.steps or plain()),
        "mappings": mappings(panel.mapping),
        "links": links,
    }
    if panel.decimals is not None:
        shared["decimals"] = panel.decimals
    return shared


def time_series_defaults(panel: TimeSeries) -> Json:
    custom: Json = {
        "axisBorderShow": False,
        "axisCenteredZero": False,
        "axisColorMode": "text",
        "axisLabel": "",
        "axisPlacement": "auto",
        "barAlignment": 0,
        "barWidthFactor": 0.6,
        "drawStyle": "bars" if panel.bars else "line",
        "fillOpacity": 60 if panel.bars else 30 if panel.stacked else 8,
        "gradientMode": "none",
        "hideFrom": _HIDE_FROM,
        "insertNulls": False,
        "lineInterpolation": "linear",
        "lineWidth": 1,
        "pointSize": 5,
        "scaleDistribution": {"type": "linear"},
        "showPoints": "auto",
        "spanNulls": False,
        "stacking": {"group": "A", "mode": "normal" if panel.stacked else "none"},
        "thresholdsStyle": {"mode": "dashed" if len(panel.steps) > 1 else "off"},
    }
    if panel.soft_maximum is not None:
        custom["axisSoftMax"] = panel.soft_maximum
    found: Json = {"color": {"mode": "palette-classic"}, "custom": custom}
    return found | _bounds(panel.minimum, panel.maximum)


def time_series_options(panel: TimeSeries) -> Json:
    """A wide graph has its legend at the right: below it, Grafana shows two and a half rows."""
    wide = panel.width >= _WIDE
    legend: Json = {
        "calcs": _LEGEND_CALCS if wide else [],
        "displayMode": "table" if wide else "list",
        "placement": "right" if wide else "bottom",
        "showLegend": True,
    }
    if wide:
        legend |= {"sortBy": "Last *", "sortDesc": True, "width": _LEGEND_WIDTH}
    return {"legend": legend, "tooltip": _TOOLTIP}


def without_judgement(panel: Panel) -> list[Json]:
    """The mappings of a number; no number is grey, where Grafana takes the first threshold's colour."""
    result = {"text": panel.no_value, "color": UNKNOWN, "index": 0}
    absent = {"type": "special", "options": {"match": "null+nan", "result": result}}
    return [*mappings(panel.mapping), absent]


def stat_defaults(panel: Stat) -> Json:
    return {"mappings": without_judgement(panel)}


def stat_options(panel: Stat) -> Json:
    return {
        "colorMode": "background" if panel.background else "value",
        "graphMode": "none",
        "justifyMode": "auto",
        "orientation": "auto",
        "percentChangeColorMode": "standard",
        "reduceOptions": _reduced(),
        "showPercentChange": False,
        "textMode": "name" if panel.show_label else "auto",
        "wideLayout": True,
    }


def bar_gauge_options() -> Json:
    return {
        "displayMode": "gradient",
        "legend": {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": False},
        "maxVizHeight": 300,
        "minVizHeight": 16,
        "minVizWidth": 8,
        "namePlacement": "auto",
        "orientation": "horizontal",
        "reduceOptions": _reduced(),
        "showUnfilled": True,
        "sizing": "auto",
        "valueMode": "color",
    }


def bar_gauge_defaults(panel: BarGauge) -> Json:
    """Grafana shows the legend of a single bar only as a display name."""
    legends = {query.legend for query in panel.queries}
    named = {"displayName": _display_name(*legends)} if len(legends) == 1 else {}
    return {"mappings": without_judgement(panel)} | named | _bounds(panel.minimum, panel.maximum)


def _display_name(legend: str) -> str:
    return LEGEND_LABEL.sub(r"${__field.labels.\1}", legend)


def state_timeline_defaults(_: StateTimeline) -> Json:
    """Colours come from the value mappings.

    With the colour mode `thresholds` Grafana merges values into threshold ranges and ignores them."""
    custom = {
        "axisPlacement": "auto",
        "fillOpacity": 75,
        "hideFrom": _HIDE_FROM,
        "lineWidth": 0,
    }
    return {"color": {"mode": "fixed", "fixedColor": UNKNOWN}, "custom": custom}


def state_timeline_options(panel: StateTimeline) -> Json:
    """Each page has as many rows as can be read; Grafana's own 20 would be 9 pixels high."""
    rows = (panel.height * _GRID_LINE - _AROUND_ROWS) // _READABLE_ROW
    return {
        "alignValue": "left",
        "legend": {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": False},
        "mergeValues": True,
        "perPage": max(1, rows),
        "rowHeight": 0.85,
        "showValue": "auto",
        "tooltip": {"hideZeros": False, "mode": "single", "sort": "none"},
    }


def heatmap_defaults(_: Heatmap) -> Json:
    return {"custom": {"hideFrom": _HIDE_FROM, "scaleDistribution": {"type": "linear"}}}


def heatmap_options(panel: Heatmap) -> Json:
    """Shows the buckets of Prometheus as they are, without buckets of Grafana."""
    return {
        "calculate": False,
        "cellGap": 1,
        "cellValues": {"unit": panel.unit},
        "color": {
            "exponent": 0.5,
            "fill": "dark-orange",
            "mode": "scheme",
            "reverse": False,
            "scale": "exponential",
            "scheme": "Oranges",
            "steps": 64,
        },
        "exemplars": {"color": "rgba(255,0,255,0.7)"},
        "filterValues": {"le": 1e-9},
        "legend": {"show": True},
        "rowsFrame": {"layout": "auto"},
        "selectionMode": "x",
        "showValue": "never",
        "tooltip": {"mode": "single", "showColorScale": False, "yHistogram": False},
        "yAxis": {"axisPlacement": "left", "reverse": False, "unit": "s"},
    }


def overrides(declared: Iterable[Override]) -> list[Json]:
    return [
        {"matcher": _matcher(each.name), "properties": list(_properties(each))} for each in declared
    ]


def _matcher(name: str) -> Json:
    by = "byRegexp" if name.startswith("/") else "byName"
    return {"id": by, "options": name}


def _properties(override: Override) -> Iterator[Json]:
    if override.colour:
        yield _property("color", {"mode": "fixed", "fixedColor": override.colour})
    if override.dashed:
        yield _property("custom.lineStyle", {"dash": [8, 6], "fill": "dash"})
        yield _property("custom.fillOpacity", 0)
    if override.off_legend:
        yield _property("custom.hideFrom", {**_HIDE_FROM, "legend": True})


def _property(key: str, value: object) -> Json:
    return {"id": key, "value": value}


def _reduced() -> Json:
    return {"calcs": ["lastNotNull"], "fields": "", "values": False}


def _bounds(minimum: float | None, maximum: float | None) -> Json:
    bounds = {"min": minimum, "max": maximum}
    return {key: value for key, value in bounds.items() if value is not None}
