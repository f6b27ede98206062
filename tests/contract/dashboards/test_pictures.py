"""Our pictures of boards show what Grafana would show, its faults included."""

from __future__ import annotations

import copy
from typing import Final

import pytest
from support.grafana.board_html import page
from support.grafana.boards import BOARDS, Json, panels
from support.grafana.query import Series, Window
from support.grafana.svg import timeline

WINDOW: Final = Window(start=0, end=600, step=60, scrape=15)
VALUES: Final = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]


def timelines() -> list[tuple[str, Json]]:
    return [
        (uid, panel)
        for uid, board in BOARDS.items()
        for panel in panels(board)
        if panel["type"] == "state-timeline"
    ]


def picture(uid: str, panel: Json) -> str:
    points = [(60.0 * index, float(value)) for index, value in enumerate(VALUES)]
    shown = panel | {"gridPos": {"x": 0, "y": 0, "w": 24, "h": 8}}
    series = [Series("A", "ORDERS", {}, points)]
    return page(BOARDS[uid] | {"panels": [shown]}, {panel["id"]: series}, WINDOW, "")


def test_a_timeline_shows_one_page_of_its_rows() -> None:
    _, panel = timelines()[0]
    page_size = panel["options"]["perPage"]
    points = [(60.0 * index, 1.0) for index in range(10)]
    rows = [Series("A", f"row-{index:03}", {}, points) for index in range(2 * page_size + 1)]
    drawn = timeline(panel, rows, WINDOW, 800, 300)
    assert drawn.count(">row-") == page_size
    assert "page 1 of 3" in drawn
    assert "page 1" not in timeline(panel, rows[:page_size], WINDOW, 800, 300)


def texts(panel: Json) -> list[str]:
    """Of the values that the series has, where they have one."""
    options = panel["fieldConfig"]["defaults"]["mappings"][0]["options"]
    return [options[str(value)]["text"] for value in sorted(set(VALUES)) if str(value) in options]


@pytest.mark.parametrize(
    ("uid", "panel"), timelines(), ids=lambda each: each if isinstance(each, str) else each["title"]
)
def test_a_timeline_shows_its_states_and_the_fault_when_it_is_put_back(
    uid: str, panel: Json
) -> None:
    html = picture(uid, panel)
    assert texts(panel)
    assert all(f">{text}</text>" in html for text in texts(panel))
    assert "-∞" not in html
    broken = copy.deepcopy(panel)
    broken["fieldConfig"]["defaults"]["color"] = {"mode": "thresholds"}
    fault = picture(uid, broken)
    assert ">-∞+</text>" in fault
    assert fault.count("<rect") == 1
    assert not any(f">{text}</text>" in fault for text in texts(panel))


def test_two_consumers_with_one_condition_are_two_rows_with_their_runbook() -> None:
    (table,) = (each for each in panels(BOARDS["sg-fleet"]) if each["title"] == "What is wrong")
    named = {"condition": "stalled", "runbook": "consumer stalled", "system": "s", "stream": "S"}
    rows = [{**named, "consumer": name} for name in ("first", "second")]
    of_server = {"condition": "down", "runbook": "server down", "system": "s", "server": "n1"}
    series = [
        Series(ref, "", labels, [(600.0, value)])
        for labels, level in ((rows[0], 3.0), (rows[1], 3.0), (of_server, 2.0))
        for ref, value in (("A", level), ("B", 60_000.0))
    ]
    html = page(BOARDS["sg-fleet"] | {"panels": [table]}, {table["id"]: series}, WINDOW, "")
    assert [html.count(f">{name}<") for name in ("first", "second", "n1")] == [1, 1, 1]
    assert html.count(">ConsumerStalled<") == 2
    assert html.count(">critical<") == 2
    assert html.index(">second<") < html.index(">n1<")
