"""A series as a small chart in SVG, for the page of an asset. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isnan, nan

WIDTH, HEIGHT = 300, 56
_MARGIN = 3.0
# A shorter history does not fill the chart.
_LEAST_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Sparkline:
    title: str
    paths: tuple[str, ...]  # one for each stretch without a gap
    end: tuple[float, float] | None  # the last point
    since: float | None  # where the gravest condition began, on the x axis
    now: str
    lowest: str
    highest: str
    starts: float  # seconds before now at the left edge

    @property
    def label(self) -> str:
        return f"{self.title}: now {self.now}, between {self.lowest} and {self.highest}"


def sparkline(
    title: str,
    times: Sequence[float],
    values: Sequence[float],
    text: Callable[[float], str],
    now: float,
    since: float | None = None,
) -> Sparkline | None:
    """None without a known value. `since`: when the gravest condition began."""
    known = [value for value in values if not isnan(value)]
    if not known or not times:
        return None
    start = min(times[0], now - _LEAST_SECONDS)
    low, high = min(0.0, *known), max(known)
    spread = high - low or 1.0

    def place(at: float, value: float) -> tuple[float, float]:
        x = (at - start) / (now - start) * WIDTH
        y = HEIGHT - _MARGIN - (value - low) / spread * (HEIGHT - 2 * _MARGIN)
        return round(min(x, float(WIDTH)), 1), round(y, 1)

    stretches: list[list[tuple[float, float]]] = [[]]
    for at, value in zip(times, values, strict=True):
        if isnan(value):
            stretches.append([])
        else:
            stretches[-1].append(place(at, value))
    drawn = [stretch for stretch in stretches if stretch]
    return Sparkline(
        title,
        tuple(" ".join(f"{x},{y}" for x, y in stretch) for stretch in drawn),
        drawn[-1][-1],
        place(since, 0.0)[0] if since is not None and since > start else None,
        text(known[-1]),
        text(min(known)),
        text(high),
        now - start,
    )


def rates(times: Sequence[float], counts: Sequence[float]) -> list[float]:
    """Growth a second since the point before; unknown at first and after a reset."""
    found = [nan]
    for (before, start), (after, end) in zip(
        zip(times, counts, strict=True), zip(times[1:], counts[1:], strict=True), strict=False
    ):
        known = after > before and end >= start
        found.append((end - start) / (after - before) if known else nan)
    return found[: len(times)]
