"""Graphs, state timelines and heat maps as SVG, from a panel's own JSON and real series."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Final

from support.grafana.boards import Json
from support.grafana.query import Series, Window
from support.grafana.units import shown, unit_ticks

NAMED: Final = {
    "green": "#73bf69",
    "orange": "#ff9830",
    "red": "#f2495c",
    "blue": "#5794f2",
    "purple": "#b877d9",
    "text": "#9a9ba3",
}
PALETTE: Final = (
    "#73bf69", "#f2cc0c", "#5794f2", "#ff9830", "#b877d9", "#8ab8ff", "#fade2a", "#ffa6b0",
    "#96d98d", "#c0d8ff", "#ffcb7d", "#ca95e5", "#37872d", "#e0b400", "#1f60c4",
)  # fmt: skip
_DAY: Final = 86_400
_TICKS: Final = (60, 120, 300, 600, 900, 1800, 3600, 6 * 3600, _DAY, 5 * _DAY, 30 * _DAY)
_DATES_FROM: Final = 2 * _DAY
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 12, 8, 22
_PAGES: Final = 20  # height of the line that turns pages


@dataclass(frozen=True)
class Frame:
    """From values and times to places in a picture."""

    width: int
    height: int
    window: Window
    low: float = 0.0
    high: float = 1.0

    def x(self, when: float) -> float:
        span = self.window.end - self.window.start
        share = (when - self.window.start) / span
        return _LEFT + share * (self.width - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        share = (value - self.low) / ((self.high - self.low) or 1)
        return self.height - _BOTTOM - share * (self.height - _TOP - _BOTTOM)

    @property
    def bottom(self) -> int:
        return self.height - _BOTTOM


def colour(name: str) -> str:
    return NAMED.get(name, name)


def _svg(frame: Frame, inside: str) -> str:
    return f'<svg width="{frame.width}" height="{frame.height}">{inside}</svg>'


def _text(x: float, y: float, text: str, anchor: str = "middle", kind: str = "axis") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, look: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {look}/>'


def _times(frame: Frame) -> Iterator[str]:
    span = frame.window.end - frame.window.start
    step = next(s for s in _TICKS if span / s <= 7)
    written = "%H:%M" if span < _DATES_FROM else "%d %b"
    when = (frame.window.start // step + 1) * step
    while when < frame.window.end:
        x = frame.x(when)
        yield _line(x, _TOP, x, frame.bottom, 'class="grid"')
        yield _text(x, frame.height - 7, time.strftime(written, time.gmtime(when)))
        when += step


# --- graphs ---------------------------------------------------------------------------------------


def looks(panel: Json, series: Sequence[Series]) -> list[Json]:
    """Colour and dashes of each series: the palette, unless an override says otherwise."""
    found = []
    for index, each in enumerate(series):
        look: Json = {"colour": PALETTE[index % len(PALETTE)], "dashed": False, "legend": True}
        for override in panel["fieldConfig"]["overrides"]:
            if _meant(override["matcher"], each.name):
                look |= _changes(override["properties"])
        found.append(look)
    return found


def _meant(matcher: Json, name: str) -> bool:
    if matcher["id"] == "byName":
        return bool(matcher["options"] == name)
    return re.search(matcher["options"].strip("/"), name) is not None


def _changes(properties: list[Json]) -> Json:
    changes: Json = {}
    for each in properties:
        if each["id"] == "color":
            changes["colour"] = colour(each["value"]["fixedColor"])
        elif each["id"] == "custom.lineStyle":
            changes["dashed"] = True
        elif each["id"] == "custom.hideFrom":
            changes["legend"] = not each["value"]["legend"]
    return changes


def graph(panel: Json, series: Sequence[Series], window: Window, width: int, height: int) -> str:
    defaults = panel["fieldConfig"]["defaults"]
    low, high = _scale(defaults, series)
    frame = Frame(width, height, window, low, high)
    parts = [*_times(frame), *_values(frame, defaults["unit"]), *_thresholds(frame, defaults)]
    for each, look in zip(series, looks(panel, series), strict=True):
        if defaults["custom"]["drawStyle"] == "bars":
            parts += _bars(frame, each, look)
        else:
            parts += _curve(frame, each, look)
    return _svg(frame, "".join(parts))


def _scale(defaults: Json, series: Sequence[Series]) -> tuple[float, float]:
    values = [value for each in series for _, value in each.points] or [0.0, 1.0]
    low, high = min(values), max(values)
    low = defaults.get("min", low)
    high = max(high, defaults["custom"].get("axisSoftMax", high))
    if "max" in defaults:
        return low, defaults["max"]
    margin = (high - low) * 0.05 or abs(high) * 0.2 or 1.0
    return (low if "min" in defaults else low - margin), high + margin


def _values(frame: Frame, unit: str) -> Iterator[str]:
    for tick in unit_ticks(frame.low, frame.high, unit):
        y = frame.y(tick)
        yield _line(_LEFT, y, frame.width - _RIGHT, y, 'class="grid"')
        yield _text(_LEFT - 6, y + 4, shown(tick, unit), "end")


def _thresholds(frame: Frame, defaults: Json) -> Iterator[str]:
    if defaults["custom"]["thresholdsStyle"]["mode"] == "off":
        return
    for step in defaults["thresholds"]["steps"][1:]:
        if frame.low <= step["value"] <= frame.high:
            y = frame.y(step["value"])
            worst = defaults["thresholds"]["steps"][0] if step["color"] == "green" else step
            look = f'stroke="{colour(worst["color"])}" stroke-dasharray="7 5" stroke-width="1.5"'
            yield _line(_LEFT, y, frame.width - _RIGHT, y, look)


def _segments(frame: Frame, series: Series) -> Iterator[list[tuple[float, float]]]:
    """Without a bridge over a gap: what was not measured is not drawn."""
    segment: list[tuple[float, float]] = []
    for when, value in series.points:
        if segment and when - segment[-1][0] > frame.window.step * 1.5:
            yield segment
            segment = []
        segment.append((when, value))
    yield segment


def _curve(frame: Frame, series: Series, look: Json) -> Iterator[str]:
    dash = ' stroke-dasharray="8 6"' if look["dashed"] else ""
    for segment in _segments(frame, series):
        places = [f"{frame.x(when):.1f},{frame.y(value):.1f}" for when, value in segment]
        if not look["dashed"] and len(segment) > 1:
            first, last = frame.x(segment[0][0]), frame.x(segment[-1][0])
            ground = f"{frame.y(max(0.0, frame.low)):.1f}"
            area = f"{first:.1f},{ground} {' '.join(places)} {last:.1f},{ground}"
            yield f'<polygon points="{area}" fill="{look["colour"]}" opacity="0.08"/>'
        yield (
            f'<polyline points="{" ".join(places)}" fill="none" stroke="{look["colour"]}" '
            f'stroke-width="1.4"{dash}/>'
        )


def _bars(frame: Frame, series: Series, look: Json) -> Iterator[str]:
    width = max(1.0, frame.x(frame.window.start + frame.window.step) - frame.x(frame.window.start))
    for when, value in series.points:
        if value > 0:
            y = frame.y(value)
            yield (
                f'<rect x="{frame.x(when) - width / 2:.1f}" y="{y:.1f}" width="{width:.1f}" '
                f'height="{frame.bottom - y:.1f}" fill="{look["colour"]}" opacity="0.7"/>'
            )


# --- state timelines ------------------------------------------------------------------------------


def timeline(panel: Json, series: Sequence[Series], window: Window, width: int, height: int) -> str:
    """Its first page of rows, and how many pages there are."""
    words = _words(panel)
    rows, pages = panel["options"]["perPage"], math.ceil(len(series) / panel["options"]["perPage"])
    shown = series[:rows]
    frame = Frame(width, height - (_PAGES if pages > 1 else 0), window)
    row = min(34.0, (frame.bottom - _TOP) / max(1, len(shown)))
    left = min(width // 2, 24 + max((len(each.name) for each in shown), default=0) * 7)
    parts = [*_times_from(frame, left)]
    if pages > 1:
        parts.append(_text(width / 2, height - 6, f"page 1 of {pages}"))
    for index, each in enumerate(shown):
        top = _TOP + index * row
        parts.append(_text(left - 8, top + row / 2 + 4, each.name[-left // 7 :], "end"))
        parts += _states(frame, each, words, (left, top + row * 0.08, row * 0.84))
    return _svg(replace(frame, height=height), "".join(parts))


def _times_from(frame: Frame, left: int) -> Iterator[str]:
    for part in _times(Frame(frame.width, frame.height, frame.window)):
        # The names need more space than the numbers of a graph.
        yield re.sub(
            r'(x1?2?)="([\d.]+)"', lambda m: f'{m[1]}="{_moved(frame, float(m[2]), left)}"', part
        )


def _moved(frame: Frame, x: float, left: int) -> str:
    share = (x - _LEFT) / (frame.width - _LEFT - _RIGHT)
    return f"{left + share * (frame.width - left - _RIGHT):.1f}"


Words = Callable[[float], Json]


def _words(panel: Json) -> Words:
    """The text and colour of a value, as Grafana 10.4 to 13 choose them.

    Merged values with the colour mode `thresholds` become ranges, and mappings are ignored."""
    defaults = panel["fieldConfig"]["defaults"]
    if panel["options"]["mergeValues"] and defaults["color"]["mode"] == "thresholds":
        return lambda value: _range(value, defaults["thresholds"]["steps"])
    options = (each["options"] for each in defaults["mappings"] if each["type"] == "value")
    known = {int(value): word for each in options for value, word in each.items()}
    return lambda value: known.get(int(value), {"text": f"{value:g}", "color": "text"})


def _range(value: float, steps: list[Json]) -> Json:
    lows = [-math.inf, *(step["value"] for step in steps[1:])]
    index = max(place for place, low in enumerate(lows) if value >= low)
    low = "-∞" if index == 0 else f"{lows[index]:g}"
    end = f" - {lows[index + 1]:g}" if index + 1 < len(lows) else "+"
    return {"text": f"{low}{end}", "color": steps[index]["color"]}


def _states(
    frame: Frame, series: Series, words: Words, place: tuple[int, float, float]
) -> Iterator[str]:
    left, top, height = place
    for first, last, word in _merged(series, frame.window.step, words):
        start, end = (float(_moved(frame, frame.x(when), left)) for when in (first, last))
        end = min(end, frame.width - _RIGHT)
        yield (
            f'<rect x="{start:.1f}" y="{top:.1f}" width="{max(1.0, end - start):.1f}" '
            f'height="{height:.1f}" fill="{colour(word["color"])}" opacity="0.75" rx="2"/>'
        )
        if end - start > 7 * len(word["text"]) and height > 11:
            yield _text(start + 5, top + height / 2 + 4, word["text"], "start", "state")


def _merged(series: Series, step: float, words: Words) -> Iterator[tuple[float, float, Json]]:
    """Neighbours of one text as one bar; a gap ends it."""
    start = last = series.points[0][0]
    word = words(series.points[0][1])
    for when, value in series.points[1:]:
        if words(value) != word or when - last > step * 1.5:
            yield start, last + step, word
            start, word = when, words(value)
        last = when
    yield start, last + step, word


# --- heat maps ------------------------------------------------------------------------------------


def heatmap(series: Sequence[Series], window: Window, width: int, height: int) -> str:
    """Buckets as Prometheus has them, each without what the smaller ones hold."""
    ordered = sorted(series, key=lambda each: float(each.labels["le"].replace("+Inf", "inf")))
    frame = Frame(width, height, window, 0, max(1, len(ordered)))
    below: dict[float, float] = {}
    cells: list[tuple[float, int, float]] = []
    for index, each in enumerate(ordered):
        now = dict(each.points)
        cells += [(when, index, value - below.get(when, 0.0)) for when, value in now.items()]
        below = now
    most = max((value for _, _, value in cells), default=0.0) or 1.0
    parts = [*_times(frame), *_bucket_names(frame, ordered)]
    for when, index, value in cells:
        if value > most * 1e-6:
            x, y = frame.x(when), frame.y(index + 1)
            w, h = frame.x(when + window.step) - x, frame.y(index) - y
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h - 1:.1f}" '
                f'fill="#ff9830" opacity="{0.1 + 0.9 * (value / most) ** 0.5:.2f}"/>'
            )
    return _svg(frame, "".join(parts))


def _bucket_names(frame: Frame, ordered: Sequence[Series]) -> Iterator[str]:
    every = max(1, len(ordered) // 8)
    for index, each in enumerate(ordered):
        if index % every == 0:
            yield _text(_LEFT - 6, frame.y(index + 1) + 4, each.labels["le"], "end")
