"""What Grafana draws from the committed boards can be read at 1280 px.

The sizes were measured in a screenshot of Grafana 13 with its menu docked."""

from __future__ import annotations

from typing import Final

from support.grafana.boards import BOARDS, Json, panels

WINDOW: Final = 1280
DOCKED_MENU: Final = 300
BORDER: Final = 32  # left and right of the grid
GAP: Final = 8
HEADER: Final = 99  # padding, the icon of the description and the menu of a panel
LETTER: Final = 7.3  # mean width in the title of a panel
COLUMN: Final = (WINDOW - DOCKED_MENU - BORDER) / 24
# In the first screen of the fleet: which consumer, and the six columns that decide.
DECISIVE: Final = (
    *("Stream", "Consumer"),
    *("Verdict", "Lag", "Pending", "Redelivery", "Lost", "Abandoned"),
)


def drawn() -> list[tuple[str, Json]]:
    return [
        (f"{uid}: {panel['title']}", panel)
        for uid, board in BOARDS.items()
        for panel in panels(board)
    ]


def of_type(kind: str) -> list[tuple[str, Json]]:
    return [(place, panel) for place, panel in drawn() if panel["type"] == kind]


def test_a_title_fits_into_its_panel() -> None:
    clipped = [
        place
        for place, panel in drawn()
        if len(panel["title"]) * LETTER > panel["gridPos"]["w"] * COLUMN - GAP - HEADER
    ]
    assert clipped == []


def shows_ranges_instead_of_states(panel: Json) -> bool:
    """Grafana 10.4 to 13 merges values by thresholds where the colour mode is `thresholds`."""
    merged = panel["options"]["mergeValues"]
    return merged and panel["fieldConfig"]["defaults"]["color"]["mode"] == "thresholds"


def test_a_state_timeline_shows_the_texts_of_its_mappings() -> None:
    timelines = of_type("state-timeline")
    assert timelines
    assert [place for place, panel in timelines if shows_ranges_instead_of_states(panel)] == []


def test_a_single_bar_keeps_its_name() -> None:
    bars = [
        (place, panel)
        for place, panel in of_type("bargauge")
        if len({target["legendFormat"] for target in panel["targets"]}) == 1
    ]
    assert bars
    assert [place for place, p in bars if not p["fieldConfig"]["defaults"].get("displayName")] == []


def widths(table: Json) -> dict[str, float]:
    """Least width by the title of a column."""
    return {
        override["matcher"]["options"]: each["value"]
        for override in table["fieldConfig"]["overrides"]
        for each in override["properties"]
        if each["id"] == "custom.minWidth"
    }


def column_titles(table: Json) -> list[str]:
    """In the order in which Grafana shows them."""
    organize = table["transformations"][1]["options"]
    hidden = organize["excludeByName"]
    order = sorted(organize["indexByName"], key=organize["indexByName"].__getitem__)
    return list(
        dict.fromkeys(organize["renameByName"][name] for name in order if name not in hidden)
    )


def test_every_column_has_a_width_for_its_header() -> None:
    wrong = []
    for place, table in of_type("table"):
        known = widths(table)
        clipped = [t for t in column_titles(table) if known.get(t, 0) < len(t) * LETTER + 40]
        wrong += [f"{place}: {title}" for title in clipped]
    assert wrong == []


def test_the_columns_that_decide_are_on_the_first_screen() -> None:
    (table,) = (panel for place, panel in of_type("table") if place == "sg-fleet: Consumers")
    titles = column_titles(table)
    assert tuple(titles[: len(DECISIVE)]) == DECISIVE
    assert sum(widths(table)[title] for title in DECISIVE) <= 24 * COLUMN


def test_the_fleet_begins_with_what_is_wrong() -> None:
    shown = [panel for panel in panels(BOARDS["sg-fleet"]) if panel["gridPos"]["y"] < 9]
    assert "What is wrong" in [panel["title"] for panel in shown]


def test_every_headline_of_the_fleet_leads_somewhere() -> None:
    headlines = [panel for panel in panels(BOARDS["sg-fleet"]) if panel["gridPos"]["y"] < 7]
    dead_ends = [
        panel["title"]
        for panel in headlines
        if panel["type"] == "stat" and not panel["fieldConfig"]["defaults"]["links"]
    ]
    assert dead_ends == []
    assert headlines
