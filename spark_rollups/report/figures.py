"""Figures of the report as shapes; figures.html draws them.

Bars are in percent of the row, so that the text size is the same on all screens. Charts have a
fixed size. Colours are CSS classes of report.css, for light, dark and print.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from spark_rollups.report import formatting as fmt
from spark_rollups.report.facts.forecasts import ExpectedLevel

_LEAST = 0.4  # percent: the least width of a bar
_LABELLED = 0.22  # segments from this share on have a label inside


@dataclass(frozen=True, slots=True)
class Mark:
    """A rectangle (with a width), a text, or an upright line; in percent of the row."""

    kind: str  # CSS class
    at: float
    width: float | None = None
    top: float = 20.0
    height: float = 60.0
    text: str = ""
    anchor: str = "middle"


@dataclass(frozen=True, slots=True)
class BarRow:
    name: str
    path: str  # the parents of the name
    marks: tuple[Mark, ...]
    text: str
    spoken: str = ""  # instead of the text, for those who hear the page


@dataclass(frozen=True, slots=True)
class Fan:
    """Past levels and the forecast range against a limit. A day without data interrupts the line."""

    name: str
    path: str
    caption: str
    days: tuple[tuple[date, float], ...]
    ahead: tuple[ExpectedLevel, ...]
    limit: float | None
    is_bytes: bool

    def amount(self, value: float) -> str:
        return fmt.amount_text(value, self.is_bytes)


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    value: float
    text: str


@dataclass(frozen=True, slots=True)
class Figure:
    kind: str  # CSS class
    title: str
    caption: str
    rows: tuple[BarRow, ...] = ()
    axis: tuple[Mark, ...] = ()
    legend: tuple[tuple[str, str], ...] = ()  # CSS class and label
    fans: tuple[Fan, ...] = ()
    bars: tuple[Bar, ...] = ()  # upright, from zero


def _rect(kind: str, left: float, width: float, top: float = 20.0, height: float = 60.0) -> Mark:
    return Mark(kind, left, max(min(width, 100 - left), _LEAST), top, height)


# --- when limits are reached ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TimeScale:
    start: date
    end: date

    def at(self, day: date) -> float:
        whole = max((self.end - self.start).days, 1)
        return min(max((day - self.start).days / whole, 0.0), 1.0) * 100

    def months(self) -> list[date]:
        days = range(1, (self.end - self.start).days)
        every = (self.start + timedelta(days=day) for day in days)
        return [day for day in every if day.day == 1]

    def axis(self) -> tuple[Mark, ...]:
        inner = (day for day in self.months() if 20 < self.at(day) < 80)  # apart on a phone too
        return (
            Mark("", 0, text=short_day(self.start), anchor="start"),
            *(Mark("", self.at(day), text=short_day(day)) for day in inner),
            Mark("", 100, text=short_day(self.end), anchor="end"),
        )


def short_day(day: date) -> str:
    return f"{day.day} {day:%b}"


def range_row(
    scale: TimeScale, name: str, path: str, dates: tuple[date, date | None, date | None],
    urgent: bool, note: str,
) -> BarRow:  # fmt: skip
    """From the earliest date over the likely to the latest; None is beyond the horizon."""
    earliest, likely, latest = dates
    left, right = scale.at(earliest), 100.0 if latest is None else scale.at(latest)
    kind = f"{'bad' if urgent else 'warn'}{' open' if latest is None else ''}"
    marks = [*(Mark("grid", scale.at(month)) for month in scale.months())]
    marks.append(_rect(kind, left, right - left))
    when = f"{fmt.day(earliest)} at the earliest"
    if likely is not None:
        marks.append(Mark("likely", min(scale.at(likely), 99.6)))
        when = f"around {fmt.day(likely)}"
    if latest is not None and latest <= scale.start:
        when = "full now"
    return BarRow(name, path, tuple(marks), f"{when} · {note}", f"{when}, {note}")


# --- shares, days, clocks, fill -------------------------------------------------------------------


def share_row(
    name: str, path: str, shares: Sequence[float], labels: Sequence[str], well: Sequence[str]
) -> BarRow:
    """Shares of a whole. The class of a label is its number; `well` need no action."""
    marks, left = [], 0.0
    for index, share in enumerate(shares):
        if share > 0:
            marks.append(_rect(f"s-verdict-{index}", left, share * 100, 15, 70))
            if share >= _LABELLED:
                kind = f"in t-verdict-{index}"
                marks.append(Mark(kind, left + 1, text=labels[index], anchor="start"))
            left += share * 100
    named = list(zip(labels, shares, strict=True))
    spoken = ", ".join(f"{label} {fmt.share(share)}" for label, share in named if share > 0)
    bad = max(1 - sum(share for label, share in named if label in well), 0.0)
    return BarRow(name, path, tuple(marks), f"{fmt.share(bad)} not well", spoken)


def day_row(name: str, shares: Sequence[float | None]) -> BarRow:
    """One cell per day of the month; None: no data at all."""
    width, marks = 100 / len(shares), []
    for index, share in enumerate(shares):
        left = index * width + 0.15 * width
        marks.append(_rect("none", left, 0.7 * width, 0, 100))
        if share is not None:
            height = round(share * 100)
            marks.append(_rect("there", left, 0.7 * width, 100 - height, height))
    there = sum(share is not None for share in shares)
    return BarRow(name, "", tuple(marks), f"{there} of {len(shares)} days")


def day_axis(days: int) -> tuple[Mark, ...]:
    return tuple(Mark("", (day + 0.5) / days * 100, text=str(day + 1)) for day in range(0, days, 7))


def offset_rows(
    rows: Sequence[tuple[str, str, float, float, float]], line: float
) -> tuple[tuple[BarRow, ...], tuple[Mark, ...]]:
    """Rows and axis of clock offsets: name, path, lowest, highest, uncertainty."""
    reach = max([line * 1.25, *(max(abs(low), abs(high)) + more for _, _, low, high, more in rows)])

    def at(value: float) -> float:
        return 50 + value / reach * 49

    drawn = []
    for name, path, low, high, more in rows:
        off = max(abs(low), abs(high)) - more > line
        marks = (
            Mark("grid", 50), Mark("limit", at(-line)), Mark("limit", at(line)),
            _rect("pale", at(low - more), at(high + more) - at(low - more), 35, 30),
            _rect("bad" if off else "fine", at(low), at(high) - at(low)),
        )  # fmt: skip
        drawn.append(BarRow(name, path, marks, f"{fmt.span(low)} to {fmt.span(high)}"))
    text = fmt.span(line)
    labels = ((-line, f"−{text}"), (0.0, "0"), (line, f"+{text}"))
    return tuple(drawn), tuple(Mark("", at(value), text=label) for value, label in labels)


def fill_row(
    name: str, path: str, used: float, limit: float, expected: float | None, line: float
) -> BarRow:
    """How much of a limit is used now, and how much is expected in 30 days."""
    marks, text = [_rect("track", 0, 100)], f"{fmt.share(used / limit)} of {fmt.bytes_text(limit)}"
    if expected is not None:
        text += f", {fmt.share(expected / limit)} in 30 days"
        if expected > used:
            marks.append(_rect("expected", 0, min(expected / limit, 1.0) * 100))
    marks.append(_rect("bad" if used > line * limit else "fine", 0, min(used / limit, 1.0) * 100))
    return BarRow(name, path, (*marks, Mark("limit", line * 100)), text)


# --- charts of a fixed size -----------------------------------------------------------------------

_WIDTH, _HEIGHT = 320, 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 6, 314, 18, 130
_FAR = 4.0  # a limit this many times above all levels is not drawn
_BARS_TOP, _BARS_BOTTOM = 16, 112
_LABEL_WIDTH = 44  # of a label like 438 GiB, in the units of the picture
_LETTER = 6.0
_SPARK = (96, 22)


def fan_shapes(fan: Fan) -> Mapping[str, Any]:
    """Points and spots of the picture of a forecast."""
    ends = [day for day, _ in fan.days] + [ahead.day for ahead in fan.ahead]
    first, last, (today, level) = fan.days[0][0], max(ends), fan.days[-1]
    top = max([value for _, value in fan.days] + [ahead.high for ahead in fan.ahead])
    if fan.limit is not None and fan.limit <= _FAR * top:
        top = max(top, fan.limit)
    top = top * 1.08 or 1.0

    def x(day: date) -> float:
        share = (day - first).days / max((last - first).days, 1)
        return round(_LEFT + share * (_RIGHT - _LEFT), 1)

    def y(value: float) -> float:
        return round(_BOTTOM - min(max(value / top, 0.0), 1.0) * (_BOTTOM - _TOP), 1)

    def points(pairs: Sequence[tuple[date, float]]) -> str:
        return " ".join(f"{x(day)},{y(value)}" for day, value in pairs)

    ticks = [(first, "start"), (today, "middle"), (last, "end")]
    ticks = ticks[1:] if x(today) - _LEFT < 70 else ticks
    middle = [(each.day, each.middle) for each in fan.ahead]
    edge = [(each.day, each.high) for each in fan.ahead]
    edge += [(each.day, each.low) for each in reversed(fan.ahead)]
    # The value stands left of its point and above the line: the band is on the right.
    right = x(today) > _LEFT + 60
    limit = y(fan.limit) if fan.limit is not None and fan.limit <= top else None
    spot = y(level) - 8 if y(level) > _TOP + 12 else y(level) + 16
    if limit is not None and spot - 14 < limit < spot + 4:  # the line would run through the value
        spot = limit - 4
    return {
        "ticks": [(x(day), short_day(day), anchor) for day, anchor in dict.fromkeys(ticks)],
        "today": (x(today), y(level)),
        "past": [points(run) for run in _spans(fan.days)],
        "band": points([fan.days[-1], *edge]) if fan.ahead else "",
        "middle": points([fan.days[-1], *middle]) if fan.ahead else "",
        "value": (
            x(today) + (-5 if right else 5), spot, "end" if right else "start",
        ),
        "limit": limit,
        # Above its line on the left, unless the current value is there.
        "limit_left": limit is not None and limit < y(level) - 26,
        "text": fan.amount(level), "day": fmt.day(today),
    }  # fmt: skip


def _spans(days: Sequence[tuple[date, float]]) -> Iterator[list[tuple[date, float]]]:
    """Spans of consecutive days."""
    run: list[tuple[date, float]] = []
    for day, value in days:
        if run and day - run[-1][0] > timedelta(days=1):
            yield run
            run = []
        run.append((day, value))
    yield run


def bar_shapes(bars: Sequence[Bar]) -> list[dict[str, Any]]:
    """Places of the bars; labels are thinned, counted from the newest, which always has one."""
    wide = max((_LETTER * len(bar.text) for bar in bars), default=0.0)
    wide = max(wide, _LABEL_WIDTH)
    step, every = _WIDTH / max(len(bars), 1), every_nth(len(bars), _WIDTH, wide)
    top = max((bar.value for bar in bars), default=0.0) or 1.0
    heights = [max(bar.value, 0.0) / top * (_BARS_BOTTOM - _BARS_TOP) for bar in bars]
    reach = math.ceil(wide / 2 / step - 0.65)  # bars on each side that a text passes over
    return [
        {
            "bar": bar, "x": step * (index + 0.15), "width": step * 0.7, "height": height,
            "y": _BARS_BOTTOM - height, "labelled": (len(bars) - 1 - index) % every == 0,
            "text_y": _BARS_BOTTOM - max(heights[max(index - reach, 0):index + reach + 1]),
            "spot": _inside(step * (index + 0.5), wide),
        }
        for index, (bar, height) in enumerate(zip(bars, heights, strict=True))
    ]  # fmt: skip


def _inside(middle: float, wide: float) -> tuple[str, str]:
    """Centred, unless the label would leave the picture."""
    if middle < wide / 2:
        return "0", "start"
    if middle > _WIDTH - wide / 2:
        return str(_WIDTH), "end"
    return f"{middle:.1f}", "middle"


def every_nth(labels: int, width: float, wide: float = _LABEL_WIDTH) -> int:
    """How many labels to step over so that the others fit."""
    fitting = max(int(width // wide), 1)
    return max(-(-labels // fitting), 1)


def spark_lines(values: Sequence[float | None]) -> list[list[str]]:
    """One point per day; a day without data interrupts the line."""
    (width, height), known = _SPARK, [value for value in values if value is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    step = (width - 4) / max(len(values) - 1, 1)
    lines: list[list[str]] = [[]]
    for index, value in enumerate(values):
        if value is None:
            lines.append([])
            continue
        share = (value - low) / (high - low) if high > low else 0.5
        lines[-1].append(f"{2 + index * step:.1f},{height - 3 - share * (height - 6):.1f}")
    return [line for line in lines if line]


FILTERS: dict[str, Callable[..., Any]] = {
    "fan_shapes": fan_shapes, "bar_shapes": bar_shapes, "spark_lines": spark_lines,
}  # fmt: skip
