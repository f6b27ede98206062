"""The table of the chain: what each part takes, and the slowest rule group and board query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from bench.rules.compare import Cost
from bench.table import megabytes, seconds, show

_HEADER = ("part", "CPU s/minute", "CPU s/run", "peak memory", "bytes/day")
DAY = 86_400.0


class Row(NamedTuple):
    """None: it does not apply."""

    part: str
    a_minute: float | None = None  # CPU seconds
    a_run: float | None = None  # likewise
    peak: int | None = None
    a_day: float | None = None

    def cells(self) -> tuple[str, ...]:
        return (
            self.part,
            "" if self.a_minute is None else f"{self.a_minute:.2f}",
            "" if self.a_run is None else f"{self.a_run:.1f}",
            "" if self.peak is None else megabytes(self.peak),
            "" if self.a_day is None else f"{self.a_day / 1e9:.2f} GB",
        )


def print_table(title: str, rows: Iterable[Row], notes: Iterable[str]) -> None:
    show(title, _HEADER, [row.cells() for row in rows])
    for note in notes:
        print(f"  {note}")


def tsdb_bytes_a_day(chunks: int, index: int, measured: float) -> float:
    """Chunks grow with time; a day has twelve blocks, each with an index of every series."""
    return chunks * DAY / measured + 12 * index


def archive_bytes_a_day(sizes: Mapping[str, int], measured: float) -> float:
    """By table. Samples grow with time, statistics by the hour; every other table is written once."""
    once = sum(sizes.values()) - sizes["samples"] - sizes["hourly"]
    return sizes["samples"] * DAY / measured + sizes["hourly"] * 24 + once


def slowest_group(groups: Mapping[str, float]) -> str:
    if not groups:
        return "rules: none was evaluated"
    name = max(groups, key=lambda each: groups[each])
    return (
        f"slowest rule group: {name}, {seconds(groups[name])}; all {seconds(sum(groups.values()))}"
    )


def slowest_query(found: Mapping[str, Iterable[Cost]]) -> list[str]:
    """By board."""
    named = [(board, cost) for board, costs in found.items() for cost in costs]
    if not named:
        return ["boards: no query was sent"]
    board, cost = max(named, key=lambda each: each[1].wall)
    return [
        f"slowest board query: {board}, {cost.name}",
        f"  {seconds(cost.wall)}, {cost.touched:,} samples touched, {cost.samples:,} held at once",
    ]
