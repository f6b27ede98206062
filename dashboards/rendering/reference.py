"""docs/dashboards.md: how to install the boards, and the meaning of each panel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dashboards.grafana import TITLE_PREFIX, Naming
from dashboards.panels.model import Board, Panel, Row, Text
from dashboards.rendering.describe import needs, thresholds_of
from dashboards.rendering.reference_text import AFTER, BEFORE

_DOCS: Final = Path(__file__).parents[2] / "docs"


def page(boards: tuple[Board, ...]) -> str:
    return "\n".join([BEFORE, _overview(boards), *map(_chapter, boards), AFTER])


def _overview(boards: tuple[Board, ...]) -> str:
    lines = ["## The boards", "", "| Board | uid | Content |", "|---|---|---|"]
    prefix = Naming().uid_prefix
    lines += [
        f"| [{board.title}](#{_anchor(board)}) | `{prefix}{board.key}` | {board.description} |"
        for board in boards
    ]
    return "\n".join(lines) + "\n"


def _anchor(board: Board) -> str:
    kept = "".join(ch for ch in board.title.lower() if ch.isalnum() or ch in "- ")
    return kept.replace(" ", "-")


def _chapter(board: Board) -> str:
    uid = Naming().uid_prefix + board.key
    variables = ", ".join(variable.label.lower() for variable in board.variables)
    head = [
        f"## {board.title}",
        "",
        f"{board.description} In Grafana it is called *{TITLE_PREFIX}{board.title}*; its variables are "
        f"{variables}.",
        "",
    ]
    picture = f"pictures/board-{uid}.png"
    if (_DOCS / picture).exists():  # a new board has none until it was drawn
        head += [f"![{board.title}]({picture})", ""]
    return "\n".join([*head, *(line for row in board.rows for line in _row(row))])


def _row(row: Row) -> Iterator[str]:
    yield f"### {row.title}" + (" (collapsed)" if row.collapsed else "")
    yield ""
    panels = [panel for panel in row.panels if not isinstance(panel, Text)]
    yield "| Panel | Shows | Bad | Do |"
    yield "|---|---|---|---|"
    yield from map(_line, panels)
    yield ""


def _line(panel: Panel) -> str:
    shows = [panel.guide.means]
    if lines := thresholds_of(panel):
        shows.append("Colours or lines at " + ", ".join(f"`{name}`" for name in lines) + ".")
    shows += [f"Needs {need}." for need in needs(panel)]
    cells = (panel.title, " ".join(shows), panel.guide.bad, panel.guide.do)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
