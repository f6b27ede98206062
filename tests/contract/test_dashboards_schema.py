"""The boards against Grafana 13: its types, its registries, its own merging of a table."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from support.grafana_boards import BOARDS, Json, panels
from support.grafana_recorded import FOLDER, SAMPLE_TABLE, recorded, registry
from support.grafana_schema import ALLOWED, faults

from dashboards.rendering.tables import transformations

each_board = pytest.mark.parametrize("uid", BOARDS)


@each_board
def test_grafana_s_types_accept_the_board(uid: str) -> None:
    assert list(faults(BOARDS[uid])) == []


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
def test_the_types_refuse_what_is_wrong(damage: str) -> None:
    assert list(faults(_damaged(damage))) != []


def test_every_allowance_has_a_reason() -> None:
    assert all(len(reason) > 20 for reason in ALLOWED.values())


# --- registries -----------------------------------------------------------------------------------


def found(node: Any, key: str) -> Iterator[Any]:
    """Every value under that key, wherever it stands."""
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


@each_board
def test_every_unit_is_one_of_grafana_s(uid: str) -> None:
    board = BOARDS[uid]
    units = {str(unit) for unit in (*found(board["panels"], "unit"), *properties(board, "unit"))}
    assert units
    assert units <= set(registry()["units"])


@each_board
def test_every_calculation_is_one_of_grafana_s(uid: str) -> None:
    calculations = {each for calcs in found(BOARDS[uid]["panels"], "calcs") for each in calcs}
    assert calculations <= set(registry()["reducers"])
    assert "lastNotNull" in calculations


@each_board
def test_every_transformation_is_one_of_grafana_s(uid: str) -> None:
    used = {each["id"] for p in panels(BOARDS[uid]) for each in p.get("transformations", ())}
    assert used <= set(registry()["transformations"])


@each_board
def test_every_matcher_is_one_of_grafana_s(uid: str) -> None:
    matchers = {each["id"] for each in found(BOARDS[uid]["panels"], "matcher")}
    assert matchers <= set(registry()["matchers"])


@each_board
def test_every_colour_mode_is_one_of_grafana_s(uid: str) -> None:
    board = BOARDS[uid]
    modes = {p["fieldConfig"]["defaults"]["color"]["mode"] for p in panels(board) if "targets" in p}
    modes |= {each["mode"] for each in properties(board, "color")}
    assert modes <= set(registry()["colours"])


def test_the_registries_know_what_people_confuse() -> None:
    """The check above would be worth nothing if the list took everything."""
    assert "mps" in registry()["units"]
    assert "msg/s" not in registry()["units"]
    assert "byRegex" not in registry()["matchers"]


# --- a table as Grafana makes it ------------------------------------------------------------------


def test_grafana_s_own_code_makes_one_row_of_each_stream() -> None:
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


def test_the_recordings_say_where_they_come_from() -> None:
    notice = (FOLDER / "NOTICE").read_text()
    assert "@grafana/schema and @grafana/data, version 13." in notice
    assert "Apache License, Version 2.0" in notice
