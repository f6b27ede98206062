"""Renders the figures of the report as HTML and SVG.

Bars are in percent of the row, so that the text size is the same on all screens.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta

from spark_rollups.report import formatting as fmt
from spark_rollups.report.charts.figure_data import (
    Bars,
    DayRow,
    DayStrip,
    Fans,
    Figure,
    Fill,
    Fills,
    FullRange,
    FullRanges,
    Name,
    Offset,
    Offsets,
    ShareRow,
    Shares,
)
from spark_rollups.report.charts.markup import escaped
from spark_rollups.report.charts.svg import draw_bars, draw_fan

_LEAST = 0.4  # percent: the least width of a bar
_LABELLED = 0.22  # segments from this share on have a label inside


def figure_html(figure: Figure) -> str:
    body = _body(figure)
    return (
        f'<figure class="{_CLASSES[type(figure)]}"><figcaption><h3>{escaped(figure.title)}</h3>'
        f"<p>{escaped(figure.caption)}</p></figcaption>{body}</figure>"
    )


_CLASSES: dict[type, str] = {
    FullRanges: "ranges", Fans: "fans", Shares: "shares", DayStrip: "strip", Offsets: "offsets",
    Fills: "fills", Bars: "bars",
}  # fmt: skip


def _body(figure: Figure) -> str:
    match figure:
        case FullRanges():
            return _ranges(figure)
        case Fans():
            return _fans(figure)
        case Shares():
            return _shares(figure)
        case DayStrip():
            return _strip(figure)
        case Offsets():
            return _offsets(figure)
        case Fills():
            return _fills(figure)
        case Bars():
            return draw_bars(figure)


def _row(name: Name, graphic: str, text: str, spoken: str) -> str:
    path = f"<small>{escaped(name.path)}</small>" if name.path else ""
    label = f"{name.text}: {spoken}"
    return (
        f'<div class="row"><p class="name"><b>{escaped(name.text)}</b> {path}</p>'
        f'<svg class="bar" role="img" aria-label="{escaped(label)}">{graphic}</svg>'
        f'<p class="detail">{escaped(text)}</p></div>'
    )


def _rows(rows: Iterable[str], axis: str = "") -> str:
    foot = (
        f'<div class="row foot"><p class="name"></p><svg class="axis" aria-hidden="true">{axis}</svg>'
        '<p class="detail"></p></div>'
    )
    return f'<div class="rows">{"".join(rows)}{foot if axis else ""}</div>'


def _rect(kind: str, left: float, width: float, height: str = "60%", top: str = "20%") -> str:
    shown = max(min(width, 100 - left), _LEAST)
    return f'<rect class="{kind}" x="{left:.2f}%" width="{shown:.2f}%" y="{top}" height="{height}" rx="2"/>'


def _upright(kind: str, at: float) -> str:
    return f'<line class="{kind}" x1="{at:.2f}%" x2="{at:.2f}%" y1="0" y2="100%"/>'


# --- when limits are reached ----------------------------------------------------------------------


def _ranges(figure: FullRanges) -> str:
    months = _months(figure)
    grid = "".join(_upright("grid", _at(figure, month)) for month in months)
    rows = [_range_row(figure, row, grid) for row in figure.rows]
    labels = [f'<text x="0%" text-anchor="start" y="14">{_short(figure.start)}</text>']
    labels += [
        f'<text x="{_at(figure, month):.2f}%" text-anchor="middle" y="14">{_short(month)}</text>'
        for month in months
        if 12 < _at(figure, month) < 88
    ]
    labels.append(f'<text x="100%" text-anchor="end" y="14">{_short(figure.end)}</text>')
    return _rows(rows, "".join(labels))


def _months(figure: FullRanges) -> list[date]:
    days = (figure.end - figure.start).days
    every = (figure.start + timedelta(days=day) for day in range(1, days))
    return [day for day in every if day.day == 1]


def _at(figure: FullRanges, day: date) -> float:
    whole = max((figure.end - figure.start).days, 1)
    return min(max((day - figure.start).days / whole, 0.0), 1.0) * 100


def _short(day: date) -> str:
    return f"{day.day} {day:%b}"


def _range_row(figure: FullRanges, row: FullRange, grid: str) -> str:
    left = _at(figure, row.earliest)
    right = 100.0 if row.latest is None else _at(figure, row.latest)
    kind = "bad" if row.urgent else "warn"
    fade = " open" if row.latest is None else ""
    graphic = grid + _rect(f"{kind}{fade}", left, right - left)
    if row.likely is not None:
        graphic += _upright("likely", min(_at(figure, row.likely), 99.6))
    if row.latest is not None and row.latest <= figure.start:
        when = "full now"
    elif row.likely is not None:
        when = f"around {fmt.day(row.likely)}"
    else:
        when = f"{fmt.day(row.earliest)} at the earliest"
    return _row(row.name, graphic, f"{when} · {row.note}", f"{when}, {row.note}")


# --- small multiples ------------------------------------------------------------------------------


def _fans(figure: Fans) -> str:
    cells = (
        f'<div class="cell"><p class="name"><b>{escaped(fan.name.text)}</b> '
        f"<small>{escaped(fan.name.path)}</small></p>{draw_fan(fan)}"
        f'<p class="detail">{escaped(fmt.capital(fan.caption))}</p></div>'
        for fan in figure.fans
    )
    return f'<div class="cells">{"".join(cells)}</div>'


# --- shares ---------------------------------------------------------------------------------------


def _shares(figure: Shares) -> str:
    used = [
        index
        for index in range(len(figure.labels))
        if any(row.shares[index] > 0 for row in figure.rows)
    ]
    keys = "".join(
        f'<li><i class="key s-{figure.classes[index]}"></i>{escaped(figure.labels[index])}</li>'
        for index in used
    )
    return f'<ul class="legend">{keys}</ul>' + _rows(_share_row(figure, row) for row in figure.rows)


def _share_row(figure: Shares, row: ShareRow) -> str:
    parts, left, bad = [], 0.0, 0.0
    for index, share in enumerate(row.shares):
        if not share > 0:
            continue
        kind = f"s-{figure.classes[index]}"
        parts.append(_rect(kind, left, share * 100, "70%", "15%"))
        if share >= _LABELLED:
            parts.append(
                f'<text class="in t-{figure.classes[index]}" x="{left + 1:.2f}%" y="50%" '
                f'dominant-baseline="central">{escaped(figure.labels[index])}</text>'
            )
        left += share * 100
    spoken = ", ".join(
        f"{figure.labels[index]} {fmt.share(share)}"
        for index, share in enumerate(row.shares)
        if share > 0
    )
    bad = 1 - sum(row.shares[index] for index in figure.well)
    return _row(row.name, "".join(parts), f"{fmt.share(max(bad, 0.0))} not well", spoken)


# --- days, clocks, fill ---------------------------------------------------------------------------


def _strip(figure: DayStrip) -> str:
    length = len(figure.rows[0].days) if figure.rows else 1
    labels = "".join(
        f'<text x="{(day + 0.5) / length * 100:.2f}%" text-anchor="middle" y="14">{day + 1}</text>'
        for day in range(0, length, 7)
    )
    return _rows((_day_row(row) for row in figure.rows), labels)


def _day_row(row: DayRow) -> str:
    width = 100 / len(row.days)
    cells = []
    for index, share in enumerate(row.days):
        left = index * width + 0.15 * width
        cells.append(_rect("none", left, 0.7 * width, "100%", "0"))
        if share is not None:
            cells.append(
                _rect(
                    "there", left, 0.7 * width, f"{share * 100:.0f}%", f"{100 - share * 100:.0f}%"
                )
            )
    there = sum(share is not None for share in row.days)
    text = f"{there} of {len(row.days)} days"
    return _row(row.name, "".join(cells), text, text)


def _offsets(figure: Offsets) -> str:
    reach = max(
        [
            figure.line * 1.25,
            *(max(abs(row.low), abs(row.high)) + row.uncertainty for row in figure.rows),
        ]
    )
    rows = (_offset_row(figure, row, reach) for row in figure.rows)
    line = fmt.span(figure.line)
    labels = "".join(
        f'<text x="{_position(value, reach):.2f}%" text-anchor="middle" y="14">{escaped(text)}</text>'
        for value, text in ((-figure.line, f"−{line}"), (0.0, "0"), (figure.line, f"+{line}"))
    )
    return _rows(rows, labels)


def _position(value: float, reach: float) -> float:
    return 50 + value / reach * 49


def _offset_row(figure: Offsets, row: Offset, reach: float) -> str:
    low, high = _position(row.low, reach), _position(row.high, reach)
    pale = _position(row.low - row.uncertainty, reach), _position(row.high + row.uncertainty, reach)
    off = max(abs(row.low), abs(row.high)) - row.uncertainty > figure.line
    graphic = (
        _upright("grid", 50)
        + _upright("limit", _position(-figure.line, reach))
        + _upright("limit", _position(figure.line, reach))
        + _rect("pale", pale[0], pale[1] - pale[0], "30%", "35%")
        + _rect("bad" if off else "fine", low, high - low)
    )
    text = f"{fmt.span(row.low)} to {fmt.span(row.high)}"
    return _row(row.name, graphic, text, text)


def _fills(figure: Fills) -> str:
    return _rows(_fill_row(figure, row) for row in figure.rows)


def _fill_row(figure: Fills, row: Fill) -> str:
    used = row.used / row.limit
    kind = "bad" if used > figure.line else "fine"
    graphic = _rect("track", 0, 100, "60%", "20%")
    if row.expected is not None and row.expected > row.used:
        graphic += _rect("expected", 0, min(row.expected / row.limit, 1.0) * 100)
    graphic += _rect(kind, 0, min(used, 1.0) * 100) + _upright("limit", figure.line * 100)
    text = f"{fmt.share(used)} of {fmt.bytes_text(row.limit)}"
    if row.expected is not None:
        text += f", {fmt.share(row.expected / row.limit)} in 30 days"
    return _row(row.name, graphic, text, text)
