"""The committed boards as Grafana reads them, and ways through their panels and queries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

Json = dict[str, Any]

ROOT: Final = Path(__file__).parents[3]
FOLDER: Final = ROOT / "dashboards/generated"
FILES: Final = sorted(FOLDER.glob("*.json"))


def load(path: Path) -> Json:
    board: Json = json.loads(path.read_text(encoding="utf-8"))
    return board


BOARDS: Final[dict[str, Json]] = {path.stem: load(path) for path in FILES}


def panels(board: Json) -> Iterator[Json]:
    """All but rows, also those folded away in one."""
    for panel in board["panels"]:
        if panel["type"] != "row":
            yield panel
        yield from panel.get("panels", ())


@dataclass(frozen=True)
class Target:
    """One query, and where it stands."""

    board: str
    panel: str
    kind: str
    ref: str
    expr: str
    legend: str
    instant: bool

    def __str__(self) -> str:
        return f"{self.board}: {self.panel} {self.ref}"


def targets(uid: str) -> Iterator[Target]:
    for panel in panels(BOARDS[uid]):
        for target in panel.get("targets", ()):
            yield Target(
                uid,
                panel["title"],
                panel["type"],
                target["refId"],
                target["expr"],
                target.get("legendFormat", ""),
                target["instant"],
            )


def variables(board: Json) -> dict[str, Json]:
    return {each["name"]: each for each in board["templating"]["list"]}
