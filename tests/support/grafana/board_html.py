"""A board as a page: its panels where its JSON puts them, with real values inside."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import Final

from support.grafana.boards import Json
from support.grafana.query import Series, Window
from support.grafana.svg import colour, graph, heatmap, looks, timeline
from support.grafana.units import shown

COLUMN, LINE, GAP = 64, 34, 8  # of the grid, in pixels
WIDTH: Final = 24 * COLUMN + 2 * GAP
_LIST_LINES: Final = 4
_TABLE_LINE: Final = 24

STYLE: Final = """
* { box-sizing: border-box; margin: 0; }
body { background: #111217; color: #ccccdc; font: 13px/1.35 "DejaVu Sans", sans-serif; }
header { padding: 14px 16px 4px; } h1 { font-size: 19px; font-weight: 500; }
header p { color: #9a9ba3; margin-top: 3px; font-size: 12px; }
main { position: relative; } .row { font-size: 15px; padding: 7px 4px; position: absolute; color: #e6e6f0; }
.panel { position: absolute; background: #181b1f; border: 1px solid #24262d; border-radius: 3px; overflow: hidden; }
.panel h2 { font-size: 13px; font-weight: 500; padding: 6px 9px 2px; white-space: nowrap; }
.none { color: #74757d; text-align: center; padding-top: 26px; font-size: 16px; }
.axis { fill: #9a9ba3; font-size: 11px; } .state { fill: #111217; font-size: 11px; }
.grid { stroke: #2c2f36; stroke-width: 1; }
.legend { padding: 0 9px; font-size: 11px; width: 100%; border-collapse: collapse; color: #b4b5bf; }
.legend td { padding: 0 8px; white-space: nowrap; } .legend td + td { text-align: right; width: 70px; }
.legend td:first-child { overflow: hidden; text-overflow: ellipsis; max-width: 180px; } .legend td + td { width: auto; padding: 0 3px; }
.names { padding: 0 9px; font-size: 11px; height: 64px; overflow: hidden; color: #b4b5bf; } .names li { display: inline-block; margin-right: 12px; }
.dot { display: inline-block; width: 12px; height: 3px; margin-right: 6px; vertical-align: middle; }
.tiles { display: flex; height: calc(100% - 28px); gap: 4px; padding: 4px; }
.tile { flex: 1; display: flex; flex-direction: column; align-items: center; justify-content: center; border-radius: 3px; text-align: center; }
.tile b { font-weight: 500; } .tile i { font-style: normal; font-size: 11px; opacity: 0.85; }
.bar { display: flex; align-items: center; gap: 8px; padding: 3px 9px; font-size: 12px; }
.bar span { flex: 0 0 44%; text-align: right; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; direction: rtl; }
.bar div { flex: 1; background: #22252b; height: 16px; border-radius: 2px; } .bar div div { height: 16px; opacity: 0.85; }
.bar b { flex: 0 0 72px; font-weight: 500; }
table.data { border-collapse: collapse; width: 100%; font-size: 12px; }
table.data th { text-align: left; color: #6e9fff; font-weight: 500; padding: 3px 9px; border-bottom: 1px solid #2c2f36; white-space: nowrap; }
table.data td { padding: 3px 9px; border-bottom: 1px solid #22252b; white-space: nowrap; }
.text { padding: 4px 12px; font-size: 12.5px; } .text p { margin-bottom: 7px; }
"""


def page(board: Json, found: dict[int, list[Series]], window: Window, subtitle: str) -> str:
    """`found` holds the series of each panel by its id."""
    parts, top = [], 0
    for panel in board["panels"]:
        if panel["type"] == "row":
            parts.append(_row(panel))
            continue
        parts.append(_panel(panel, found[panel["id"]], window))
    for panel in board["panels"]:
        top = max(top, panel["gridPos"]["y"] + panel["gridPos"]["h"])
    return (
        f'<!doctype html><meta charset="utf-8"><style>{STYLE}</style>'
        f'<body style="width:{WIDTH}px">'
        f"<header><h1>{escape(board['title'])}</h1><p>{escape(subtitle)}</p></header>"
        f'<main style="height:{top * LINE + GAP}px">{"".join(parts)}</main>'
    )


def opened(board: Json) -> Json:
    """Folded rows opened, so that the picture shows everything."""
    panels, shift = [], 0
    for panel in board["panels"]:
        panels.append(_shifted(panel, shift))
        inside = panel.get("panels", [])
        panels += [_shifted(each, shift) for each in inside]
        if inside:
            first = panel["gridPos"]["y"] + 1
            shift += max(each["gridPos"]["y"] + each["gridPos"]["h"] for each in inside) - first
    return board | {"panels": panels}


def _shifted(panel: Json, by: int) -> Json:
    place = panel["gridPos"]
    return panel | {"gridPos": place | {"y": place["y"] + by}, "panels": []}


def _box(place: Json) -> tuple[int, int, int, int]:
    left, top = GAP + place["x"] * COLUMN, place["y"] * LINE
    return left, top, place["w"] * COLUMN - GAP, place["h"] * LINE - GAP


def _row(panel: Json) -> str:
    left, top, _, _ = _box(panel["gridPos"])
    return f'<div class="row" style="left:{left}px;top:{top}px">⌄ {escape(panel["title"])}</div>'


def _panel(panel: Json, series: list[Series], window: Window) -> str:
    left, top, width, height = _box(panel["gridPos"])
    inside = _inside(panel, series, window, (width, height - 30))
    return (
        f'<section class="panel" style="left:{left}px;top:{top}px;width:{width}px;height:{height}px">'
        f"<h2>{escape(panel['title'])}</h2>{inside}</section>"
    )


def _inside(panel: Json, series: list[Series], window: Window, size: tuple[int, int]) -> str:
    kind = panel["type"]
    if kind == "text":
        return f'<div class="text">{_markdown(panel["options"]["content"])}</div>'
    if not series:
        return f'<p class="none">{escape(panel["fieldConfig"]["defaults"]["noValue"])}</p>'
    if kind == "timeseries":
        return _graph(panel, series, window, size)
    if kind == "state-timeline":
        return timeline(panel, series, window, *size)
    if kind == "heatmap":
        return heatmap(series, window, *size)
    if kind == "stat":
        return _stat(panel, series, size)
    return _bars(panel, series) if kind == "bargauge" else _table(panel, series, size)


def _graph(panel: Json, series: list[Series], window: Window, size: tuple[int, int]) -> str:
    """With its legend where the panel puts it."""
    legend = panel["options"]["legend"]
    if legend["placement"] == "right":
        lines = size[1] // 16 - 1
        drawn = graph(panel, series, window, size[0] - legend["width"], size[1] - 4)
        beside = f'<div style="width:{legend["width"]}px">{_legend(panel, series, lines)}</div>'
        return f'<div style="display:flex">{drawn}{beside}</div>'
    drawn = graph(panel, series, window, size[0], size[1] - _LIST_LINES * 16 - 4)
    names = "".join(
        f'<li><span class="dot" style="background:{look["colour"]}"></span>{escape(each.name)}</li>'
        for each, look in zip(series, looks(panel, series), strict=True)
        if look["legend"]
    )
    return f'{drawn}<ul class="names">{names}</ul>'


def _legend(panel: Json, series: Sequence[Series], most: int) -> str:
    unit = panel["fieldConfig"]["defaults"]["unit"]
    pairs = sorted(
        (pair for pair in zip(series, looks(panel, series), strict=True) if pair[1]["legend"]),
        key=lambda pair: -pair[0].last,
    )
    lines = [
        f'<tr><td><span class="dot" style="background:{look["colour"]}"></span>{escape(each.name)}</td>'
        f"<td>{shown(each.last, unit)}</td></tr>"
        for each, look in pairs[:most]
    ]
    more = len(pairs) - most
    if more > 0:
        lines.append(f"<tr><td>and {more} more</td></tr>")
    return f'<table class="legend">{"".join(lines)}</table>'


def _step(value: float, steps: list[Json]) -> str:
    chosen = steps[0]["color"]
    for step in steps[1:]:
        if value >= step["value"]:
            chosen = step["color"]
    return colour(chosen)


def _word(value: str | float, mappings: list[Json]) -> Json | None:
    for mapping in mappings:
        if mapping["type"] == "special":
            continue
        found: Json | None = mapping["options"].get(
            value if isinstance(value, str) else f"{value:g}"
        )
        if found:
            return found
    return None


def _stat(panel: Json, series: Sequence[Series], size: tuple[int, int]) -> str:
    tiles = [_tile(panel, each, len(series), size) for each in series[:6]]
    direction = "row" if size[0] > 260 * len(tiles) or len(tiles) == 1 else "column"
    return f'<div class="tiles" style="flex-direction:{direction}">{"".join(tiles)}</div>'


def _tile(panel: Json, series: Series, number: int, area: tuple[int, int]) -> str:
    defaults, options = panel["fieldConfig"]["defaults"], panel["options"]
    word = _word(series.last, defaults["mappings"])
    text = word["text"] if word else shown(series.last, defaults["unit"], defaults.get("decimals"))
    drawn = colour(word["color"]) if word else _step(series.last, defaults["thresholds"]["steps"])
    if options["textMode"] == "name":
        text = series.name or "–"
    size = max(13, min(30, int(area[0] / max(4, len(text)) * 1.1), int(area[1] / number * 0.5)))
    filled = options["colorMode"] == "background"
    look = f"background:{drawn};color:#111217" if filled else f"color:{drawn}"
    name = f"<i>{escape(series.name)}</i>" if number > 1 else ""
    return f'<div class="tile" style="{look}"><b style="font-size:{size}px">{escape(text)}</b>{name}</div>'


def _bars(panel: Json, series: Sequence[Series]) -> str:
    defaults = panel["fieldConfig"]["defaults"]
    most = defaults.get("max") or max(each.last for each in series) or 1
    return "".join(
        f'<div class="bar"><span>{escape(each.name)}</span><div><div style="width:'
        f"{max(0.0, min(1.0, each.last / most)) * 100:.1f}%;"
        f'background:{_step(each.last, defaults["thresholds"]["steps"])}"></div></div>'
        f"<b>{shown(each.last, defaults['unit'])}</b></div>"
        for each in sorted(series, key=lambda each: -each.last)
    )


def _table(panel: Json, series: Sequence[Series], size: tuple[int, int]) -> str:
    """As merge and organize make it: one line per set of labels."""
    organize = panel["transformations"][1]["options"]
    titles: dict[str, str] = organize["renameByName"]
    looks_of = {
        each["matcher"]["options"]: {p["id"]: p["value"] for p in each["properties"]}
        for each in panel["fieldConfig"]["overrides"]
    }
    hidden = organize["excludeByName"]
    ordered = sorted(organize["indexByName"], key=organize["indexByName"].__getitem__)
    columns = [name for name in ordered if name not in hidden and name != "Value"]
    rows = _merged_rows(series)
    by = panel["options"]["sortBy"][0]
    key = next(name for name, title in titles.items() if title == by["displayName"])
    rows.sort(key=lambda row: _order(row.get(key)), reverse=by["desc"])
    body = [
        "<tr>" + "".join(_cell(row.get(name), looks_of.get(titles[name], {})) for name in columns)
        for row in rows[: max(1, (size[1] - 28) // _TABLE_LINE)]
    ]
    head = "".join(f"<th>{escape(titles[name])}</th>" for name in columns)
    return f'<table class="data"><tr>{head}</tr>{"".join(body)}</table>'


def _merged_rows(series: Sequence[Series]) -> list[dict[str, str | float]]:
    """One frame for each query; a row of it has a column for every label of the frame. Frames with
    more labels (infos) give them to the row that has all the others."""
    rows: dict[tuple[str, ...], dict[str, str | float]] = {}
    frames: dict[str, set[str]] = {}
    for each in series:
        frames.setdefault(each.ref, set()).update(each.labels)
    shared = sorted(set.intersection(*frames.values()))
    for each in series:
        identity = tuple(each.labels.get(label, "") for label in shared)
        row = rows.setdefault(identity, {})
        row |= {**each.labels, f"Value #{each.ref}": each.last}
    return list(rows.values())


def _order(value: str | float | None) -> tuple[int, float, str]:
    if isinstance(value, str):
        return 1, 0.0, value
    return (0, 0.0, "") if value is None else (1, value, "")


def _cell(value: str | float | None, look: Json) -> str:
    word = None if value is None else _word(value, look.get("mappings", []))
    if value is None or isinstance(value, str):
        tint = ' style="color:#6e9fff"' if look.get("links") else ""
        return f"<td{tint}>{escape(word['text'] if word else value or '')}</td>"
    text = word["text"] if word else shown(value, look.get("unit", "short"))
    if word:
        filled = look.get("custom.cellOptions", {}).get("type") == "color-background"
        where = "color:#111217;background" if filled else "color"
        return f'<td style="{where}:{colour(word["color"])}">{escape(text)}</td>'
    steps = look.get("thresholds", {}).get("steps", [{"color": "text"}])
    tint = _step(value, steps) if len(steps) > 1 else "#ccccdc"
    return f'<td style="color:{tint}">{escape(text)}</td>'


def _markdown(text: str) -> str:
    """As much of it as our texts use: paragraphs, one kind of list, bold, italic, code."""
    blocks = []
    for block in text.strip().split("\n\n"):
        lines = block.split("\n")
        if all(re.match(r"\d+\. ", line) for line in lines):
            items = "".join(f"<li>{_inline(line.partition('. ')[2])}</li>" for line in lines)
            blocks.append(f"<ol>{items}</ol>")
        else:
            blocks.append(f"<p>{_inline(' '.join(lines))}</p>")
    return "".join(blocks)


def _inline(text: str) -> str:
    html = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escape(text))
    html = re.sub(r"\*(.+?)\*", r"<i>\1</i>", html)
    return re.sub(r"`(.+?)`", r"<code>\1</code>", html)
