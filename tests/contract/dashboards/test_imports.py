"""What the room of the boards may know: four doors to other rooms, and one to grafanalib."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from support.grafana.boards import ROOT

MODULES: Final = sorted((ROOT / "dashboards").glob("*.py"))
OTHER_ROOMS: Final = ("alerts", "archive", "exporter", "spark_rollups", "streamgauge")
DOORS: Final = ("alerts.thresholds", "exporter.catalog", "exporter.metric", "streamgauge.serving")


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_other_rooms_are_entered_by_their_doors_only(path: Path) -> None:
    for name in imported(path):
        if name.split(".")[0] in OTHER_ROOMS:
            assert name.startswith(DOORS), f"{path.name} imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_grafanalib_is_known_to_one_module(path: Path) -> None:
    knows = any(name.split(".")[0] == "grafanalib" for name in imported(path))
    assert knows == (path.name == "grafana.py")
