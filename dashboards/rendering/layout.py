"""Positions of panels: left to right, with a new line when the width is used up."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dashboards.panels.model import GRID_COLUMNS, Board, Panel, Row

_ROW_HEIGHT = 1
_IDS = 1_000_000


@dataclass(frozen=True, slots=True)
class Place:
    x: int
    y: int
    w: int
    h: int


@dataclass(frozen=True, slots=True)
class PlacedRow:
    row: Row
    place: Place
    panels: tuple[tuple[Panel, Place], ...]


def placed(board: Board) -> Iterator[PlacedRow]:
    """A collapsed row takes one line of the board."""
    top = 0
    for row in board.rows:
        place = Place(0, top, GRID_COLUMNS, _ROW_HEIGHT)
        panels = tuple(_flow(row.panels, top + _ROW_HEIGHT))
        yield PlacedRow(row, place, panels)
        top += _ROW_HEIGHT
        if not row.collapsed:
            top = max((each.y + each.h for _, each in panels), default=top)


def _flow(panels: Sequence[Panel], top: int) -> Iterator[tuple[Panel, Place]]:
    x, y, tallest = 0, top, 0
    for panel in panels:
        if x + panel.width > GRID_COLUMNS:
            x, y, tallest = 0, y + tallest, 0
        yield panel, Place(x, y, panel.width, panel.height)
        x, tallest = x + panel.width, max(tallest, panel.height)


def panel_id(title: str) -> int:
    """From the title, not from the order: a link to a panel survives when another is added."""
    return zlib.crc32(title.encode()) % _IDS + 1
