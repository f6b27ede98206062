"""Reads the published tables with deltalake, without the product's code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from deltalake import DeltaTable
from support.remote_write.messages import STALE, bits_of

Labels = tuple[tuple[str, str], ...]
Point = tuple[int, int]  # time in milliseconds, bits of the value
LAYOUT: Final = ["series", "hour", "replica", "scale", "ts", "iv", "fv", "stale"]


@dataclass(frozen=True)
class Published:
    """The points of each series, stale markers among them."""

    points: Mapping[Labels, Sequence[Point]]

    @property
    def count(self) -> int:
        return sum(map(len, self.points.values()))

    def without_stale(self) -> dict[Labels, list[Point]]:
        kept = {
            labels: [point for point in points if point[1] != STALE]
            for labels, points in self.points.items()
        }
        return {labels: points for labels, points in kept.items() if points}


def read_published(root: str | Path) -> Published:
    series = DeltaTable(f"{root}/series").to_pyarrow_table().to_pylist()
    labels = {row["series"]: tuple(sorted(row["labels"])) for row in series}
    points: dict[Labels, list[Point]] = {}
    for row in DeltaTable(f"{root}/samples").to_pyarrow_table(columns=LAYOUT).to_pylist():
        points.setdefault(labels[row["series"]], []).extend(_points(row))
    return Published({each: sorted(found) for each, found in points.items()})


def _points(row: Mapping[str, Any]) -> Iterator[Point]:
    hour = int(row["hour"].timestamp()) * 1000
    values = row["fv"]
    if row["iv"] is not None:
        values = [value / 10 ** row["scale"] for value in row["iv"]]
    for offset, value in zip(row["ts"], values or (), strict=True):
        yield hour + offset, bits_of(value)
    for offset in row["stale"] or ():
        yield hour + offset, STALE
