"""Draws bars by month or weekday, and the sparkline of a table row.

Labels are thinned so that they do not overlap on a phone.
"""

from __future__ import annotations

from collections.abc import Sequence

from spark_rollups.report.charts.figure_data import Bars
from spark_rollups.report.charts.markup import escaped

_WIDTH, _HEIGHT, _TOP, _BOTTOM = 320, 130, 16, 112
_LABEL_WIDTH = 44  # of a label, in the units of the picture
_SPARK = (96, 22)


def draw_bars(figure: Bars) -> str:
    step = _WIDTH / max(len(figure.bars), 1)
    every = every_nth(len(figure.bars), _WIDTH)
    top = max((bar.value for bar in figure.bars), default=0.0) or 1.0
    parts = []
    for index, bar in enumerate(figure.bars):
        height = max(bar.value, 0.0) / top * (_BOTTOM - _TOP)
        middle = step * (index + 0.5)
        parts.append(
            f'<rect class="fine" x="{middle - step * 0.35:.1f}" width="{step * 0.7:.1f}" '
            f'y="{_BOTTOM - height:.1f}" height="{height:.1f}" rx="1"/>'
        )
        # Counted from the end: the newest always has its label.
        if (len(figure.bars) - 1 - index) % every == 0:
            parts.append(
                f'<text x="{middle:.1f}" y="{_HEIGHT - 5}" text-anchor="middle">{escaped(bar.label)}</text>'
            )
            parts.append(
                f'<text class="value" x="{middle:.1f}" y="{_BOTTOM - height - 4:.1f}" text-anchor="middle">'
                f"{escaped(bar.text)}</text>"
            )
    spoken = ", ".join(f"{bar.label} {bar.text}" for bar in figure.bars)
    label = escaped(f"{figure.title}: {spoken}")
    return (
        f'<svg class="fan bars" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}">'
        f'<line class="axis" x1="0" x2="{_WIDTH}" y1="{_BOTTOM}" y2="{_BOTTOM}"/>{"".join(parts)}</svg>'
    )


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
