"""Draws small charts as SVG: a level with its forecast, bars, sparklines.

Colours are CSS classes of report.css, for light, dark and print.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from spark_rollups.report import formatting as fmt
from spark_rollups.report.charts.figure_data import Bars, Fan
from spark_rollups.report.charts.markup import escaped

_WIDTH, _HEIGHT = 320, 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 6, 314, 18, 130
_FAR = 4.0  # a limit this many times above all levels is not drawn


@dataclass(frozen=True, slots=True)
class _Scale:
    first: date
    last: date
    top: float

    def x(self, day: date) -> float:
        share = (day - self.first).days / max((self.last - self.first).days, 1)
        return round(_LEFT + share * (_RIGHT - _LEFT), 1)

    def y(self, value: float) -> float:
        share = min(max(value / self.top, 0.0), 1.0) if self.top else 0.0
        return round(_BOTTOM - share * (_BOTTOM - _TOP), 1)

    def point(self, day: date, value: float) -> str:
        return f"{self.x(day)},{self.y(value)}"


def draw_fan(fan: Fan) -> str:
    if not fan.days:
        return ""
    scale = _scale(fan)
    body = "".join((_axis(fan, scale), _band(fan, scale), _past(fan, scale), _limit(fan, scale)))
    return (
        f'<svg class="fan" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{escaped(_aria_label(fan))}">{body}</svg>'
    )


def _scale(fan: Fan) -> _Scale:
    values = [value for _, value in fan.days] + [ahead.high for ahead in fan.ahead]
    top = max(values, default=0.0)
    if fan.limit is not None and fan.limit <= _FAR * top:
        top = max(top, fan.limit)
    last = max([day for day, _ in fan.days] + [ahead.day for ahead in fan.ahead])
    return _Scale(fan.days[0][0], last, top * 1.08 or 1.0)


def amount(fan: Fan, value: float) -> str:
    return fmt.bytes_text(value) if fan.is_bytes else fmt.count(value)


def _aria_label(fan: Fan) -> str:
    day, level = fan.days[-1]
    limit = f", limit {amount(fan, fan.limit)}" if fan.limit is not None else ""
    return f"{fan.name.text}: {amount(fan, level)} on {fmt.day(day)}{limit}; {fan.caption}"


def _axis(fan: Fan, scale: _Scale) -> str:
    today = fan.days[-1][0]
    ticks = [(scale.first, "start"), (today, "middle"), (scale.last, "end")]
    if scale.x(today) - _LEFT < 70:
        ticks = ticks[1:]
    labels = "".join(
        f'<text class="tick" x="{scale.x(day)}" y="{_HEIGHT - 6}" text-anchor="{anchor}">'
        f"{day.day} {day:%b}</text>"
        for day, anchor in dict.fromkeys(ticks)
    )
    x = scale.x(today)
    return (
        f'<line class="axis" x1="{_LEFT}" x2="{_RIGHT}" y1="{_BOTTOM}" y2="{_BOTTOM}"/>'
        f'<line class="today" x1="{x}" x2="{x}" y1="{_TOP - 6}" y2="{_BOTTOM}"/>{labels}'
    )


def _band(fan: Fan, scale: _Scale) -> str:
    if not fan.ahead:
        return ""
    start = scale.point(*fan.days[-1])
    highs = [scale.point(ahead.day, ahead.high) for ahead in fan.ahead]
    lows = [scale.point(ahead.day, ahead.low) for ahead in reversed(fan.ahead)]
    middle = [scale.point(ahead.day, ahead.middle) for ahead in fan.ahead]
    return (
        f'<polygon class="band" points="{" ".join((start, *highs, *lows))}"/>'
        f'<polyline class="ahead" points="{" ".join((start, *middle))}"/>'
    )


def _past(fan: Fan, scale: _Scale) -> str:
    lines = []
    for run in _spans(fan.days):
        points = " ".join(scale.point(day, value) for day, value in run)
        lines.append(f'<polyline class="past" points="{points}"/>')
    day, level = fan.days[-1]
    x, y = scale.x(day), scale.y(level)
    # Left of the point and above the line: the band is on the right.
    anchor, shift = ("end", -5) if x > _LEFT + 60 else ("start", 5)
    above = y - 8 if y > _TOP + 12 else y + 16
    lines.append(
        f'<circle class="now" cx="{x}" cy="{y}" r="3"/>'
        f'<text class="value" x="{x + shift}" y="{above:.1f}" text-anchor="{anchor}">'
        f"{amount(fan, level)}</text>"
    )
    return "".join(lines)


def _spans(days: Sequence[tuple[date, float]]) -> Iterator[list[tuple[date, float]]]:
    """Spans of consecutive days."""
    run: list[tuple[date, float]] = []
    for day, value in days:
        if run and day - run[-1][0] > timedelta(days=1):
            yield run
            run = []
        run.append((day, value))
    yield run


def _limit(fan: Fan, scale: _Scale) -> str:
    if fan.limit is None:
        return ""
    text = f"limit {amount(fan, fan.limit)}"
    if fan.limit > scale.top:
        return f'<text class="tick" x="{_LEFT}" y="{_TOP - 6}">{text}, above the chart</text>'
    y = scale.y(fan.limit)
    # Above its line on the left, unless the current value is there.
    if y < scale.y(fan.days[-1][1]) - 26:
        spot = f'x="{_LEFT}" y="{y - 4}"'
    else:
        spot = f'x="{_RIGHT}" y="{y + 12}" text-anchor="end"'
    return (
        f'<line class="limit" x1="{_LEFT}" x2="{_RIGHT}" y1="{y}" y2="{y}"/>'
        f'<text class="limit-text" {spot}>{text}</text>'
    )


_BARS_HEIGHT, _BARS_TOP, _BARS_BOTTOM = 130, 16, 112
_LABEL_WIDTH = 44  # of a label like 438 GiB, in the units of the picture
_SPARK = (96, 22)


def draw_bars(figure: Bars) -> str:
    step = _WIDTH / max(len(figure.bars), 1)
    every = every_nth(len(figure.bars), _WIDTH)
    top = max((bar.value for bar in figure.bars), default=0.0) or 1.0
    parts = []
    for index, bar in enumerate(figure.bars):
        height = max(bar.value, 0.0) / top * (_BARS_BOTTOM - _BARS_TOP)
        middle = step * (index + 0.5)
        parts.append(
            f'<rect class="fine" x="{middle - step * 0.35:.1f}" width="{step * 0.7:.1f}" '
            f'y="{_BARS_BOTTOM - height:.1f}" height="{height:.1f}" rx="1"/>'
        )
        # Counted from the end: the newest always has its label.
        if (len(figure.bars) - 1 - index) % every == 0:
            spot = _inside(middle)
            parts.append(f'<text {spot} y="{_BARS_HEIGHT - 5}">{escaped(bar.label)}</text>')
            parts.append(
                f'<text class="value" {spot} y="{_BARS_BOTTOM - height - 4:.1f}">{escaped(bar.text)}</text>'
            )
    spoken = ", ".join(f"{bar.label} {bar.text}" for bar in figure.bars)
    label = escaped(f"{figure.title}: {spoken}")
    return (
        f'<svg class="fan bars" viewBox="0 0 {_WIDTH} {_BARS_HEIGHT}" role="img" aria-label="{label}">'
        f'<line class="axis" x1="0" x2="{_WIDTH}" y1="{_BARS_BOTTOM}" y2="{_BARS_BOTTOM}"/>{"".join(parts)}</svg>'
    )


def _inside(middle: float) -> str:
    """Centred, unless the label would leave the picture."""
    if middle < _LABEL_WIDTH / 2:
        return 'x="0" text-anchor="start"'
    if middle > _WIDTH - _LABEL_WIDTH / 2:
        return f'x="{_WIDTH}" text-anchor="end"'
    return f'x="{middle:.1f}" text-anchor="middle"'


def every_nth(labels: int, width: float) -> int:
    """How many labels to step over so that the others fit."""
    fitting = max(int(width // _LABEL_WIDTH), 1)
    return max(-(-labels // fitting), 1)


def draw_spark(values: Sequence[float | None], spoken: str) -> str:
    """One point per day; a day without data interrupts the line."""
    width, height = _SPARK
    known = [value for value in values if value is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    step = (width - 4) / max(len(values) - 1, 1)
    lines: list[list[str]] = [[]]
    for index, value in enumerate(values):
        if value is None:
            lines.append([])
            continue
        share = (value - low) / (high - low) if high > low else 0.5
        lines[-1].append(f"{2 + index * step:.1f},{height - 3 - share * (height - 6):.1f}")
    drawn = "".join(
        f'<polyline points="{" ".join(line)}"/>' if len(line) > 1 else
        f'<circle cx="{line[0].partition(",")[0]}" cy="{line[0].partition(",")[2]}" r="1.2"/>'
        for line in lines
        if line
    )  # fmt: skip
    return f'<svg class="spark" viewBox="0 0 {width} {height}" role="img" aria-label="{escaped(spoken)}">{drawn}</svg>'
