"""The boards against the types, the registries and the table transformations of Grafana."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from support.grafana.boards import BOARDS, Json, panels
from support.grafana.recorded import FOLDER, SAMPLE_TABLE, recorded, registry
from support.grafana.schema import ALLOWED, faults

from dashboards.rendering.tables import transformations


def by_board(check: Callable[[Json], Iterable[object]]) -> dict[str, list[object]]:
    """What the check finds, by board; boards without findings are not listed."""
    found = {uid: list(check(board)) for uid, board in BOARDS.items()}
    return {uid: problems for uid, problems in found.items() if problems}


def test_the_types_of_grafana_accept_the_boards() -> None:
    assert by_board(faults) == {}


def _damaged(name: str) -> Json:
    board: Json = copy.deepcopy(BOARDS["sg-fleet"])
    panel = next(each for each in board["panels"] if each["type"] == "timeseries")
    table = next(each for each in board["panels"] if each["type"] == "table")
    damages: dict[str, Any] = {
        "an old option": lambda: panel["options"].update(fieldOptions={}),
        "a word for a number": lambda: panel["gridPos"].update(w="12"),
        "no steps": lambda: panel["fieldConfig"]["defaults"]["thresholds"].update(steps=""),
        "an unknown mode": lambda: panel["fieldConfig"]["defaults"]["color"].update(mode="rainbow"),
        "an old table": lambda: table["fieldConfig"]["defaults"]["custom"].update(displayMode="x"),
        "a tooltip of two kinds": lambda: board.update(graphTooltip=7),
        "an unknown key": lambda: board.update(hideControls=False),
        "no list": lambda: board["templating"].update(list={}),
    }
    damages[name]()
    return board


@pytest.mark.parametrize(
    "damage",
    [
        "an old option", "a word for a number", "no steps", "an unknown mode", "an old table",
        "a tooltip of two kinds", "an unknown key", "no list",
    ],
)  # fmt: skip
def test_the_types_reject_a_damaged_board(damage: str) -> None:
    assert list(faults(_damaged(damage))) != []


def test_every_allowance_has_a_reason() -> None:
    assert all(ALLOWED.values())


# --- registries -----------------------------------------------------------------------------------


def found(node: Any, key: str) -> Iterator[Any]:
    """Every value under that key."""
    if isinstance(node, dict):
        yield from (value for name, value in node.items() if name == key)
        yield from (each for value in node.values() for each in found(value, key))
    elif isinstance(node, list):
        yield from (each for value in node for each in found(value, key))


def properties(board: Json, name: str) -> Iterator[Any]:
    """What overrides set under that id."""
    for panel in panels(board):
        for override in panel["fieldConfig"]["overrides"]:
            yield from (p["value"] for p in override["properties"] if p["id"] == name)


def unknown(found: Iterable[object], registered: str) -> list[str]:
    return sorted({str(each) for each in found} - set(registry()[registered]))


def test_every_unit_is_registered() -> None:
    assert (
        by_board(lambda b: unknown((*found(b["panels"], "unit"), *properties(b, "unit")), "units"))
        == {}
    )


def test_every_calculation_is_registered() -> None:
    def calculations(board: Json) -> Iterator[str]:
        return (each for calcs in found(board["panels"], "calcs") for each in calcs)

    assert by_board(lambda board: unknown(calculations(board), "reducers")) == {}


def test_every_transformation_is_registered() -> None:
    def used(board: Json) -> Iterator[str]:
        return (each["id"] for p in panels(board) for each in p.get("transformations", ()))

    assert by_board(lambda board: unknown(used(board), "transformations")) == {}


def test_every_matcher_is_registered() -> None:
    def used(board: Json) -> Iterator[str]:
        return (each["id"] for each in found(board["panels"], "matcher"))

    assert by_board(lambda board: unknown(used(board), "matchers")) == {}


def test_every_colour_mode_is_registered() -> None:
    def modes(board: Json) -> Iterator[str]:
        queried = (panel for panel in panels(board) if "targets" in panel)
        yield from (panel["fieldConfig"]["defaults"]["color"]["mode"] for panel in queried)
        yield from (each["mode"] for each in properties(board, "color"))

    assert by_board(lambda board: unknown(modes(board), "colours")) == {}


def test_the_registries_reject_common_errors() -> None:
    """A list that accepts everything would make the checks above useless."""
    assert "mps" in registry()["units"]
    assert "msg/s" not in registry()["units"]
    assert "byRegex" not in registry()["matchers"]


# --- tables -------------------------------------------------------------------------------------


def test_grafana_makes_one_row_of_each_stream() -> None:
    record = recorded("merged")
    assert record["transformations"] == transformations(SAMPLE_TABLE), "run make record"
    columns = {column["name"]: column["values"] for column in record["merged"]}
    assert columns == {
        "System": ["demo", "demo"],
        "Account": ["APP", "APP"],
        "Stream": ["ORDERS", "KV_x"],
        "Leader": ["n1", "n2"],
        "Messages": [10, 20],
        "Size": [4096, None],
    }


def test_the_recordings_name_their_origin() -> None:
    notice = (FOLDER / "NOTICE").read_text()
    assert "@grafana/schema and @grafana/data" in notice
    assert "Apache License, Version 2.0" in notice
