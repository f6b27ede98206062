"""What Grafana draws from the committed boards can be read at 1280 px.

The sizes were measured in a screenshot of Grafana 13 with its menu docked."""

from __future__ import annotations

from typing import Final

from support.grafana.boards import BOARDS, ROOT, Json, panels
from support.grafana.letters import text_width

from dashboards.panels.colours import UNKNOWN
from exporter.catalog import EVENT_TIMES

WINDOW: Final = 1280
DOCKED_MENU: Final = 300
BORDER: Final = 32  # left and right of the grid
GAP: Final = 8
HEADER: Final = 99  # padding, the icon of the description and the menu of a panel
LETTER: Final = 7.3  # mean width in the header of a column
COLUMN: Final = (WINDOW - DOCKED_MENU - BORDER) / 24
# In the first screen of the fleet: which consumer, and the six columns that decide.
DECISIVE: Final = (
    *("Stream", "Consumer"),
    *("Verdict", "Lag", "Pending", "Redelivery", "Lost", "Abandoned"),
)

# Grafana 13 shows `noValue` in these where no series comes; in a state timeline it does not.
SHOW_NO_VALUE: Final = {"stat", "bargauge", "timeseries", "table", "heatmap"}
OPTIONAL: Final = {
    "sg-publish: Publish-ack tap": "events.publish_ack_tap",
    "sg-publish: Rejections by code": "events.publish_ack_tap",
    "sg-publish: Wrong expectations": "events.publish_ack_tap",
    "sg-capacity: Streams by date": "streamgauge rollup",
    "sg-capacity: Expected in 7 days": "streamgauge rollup",
    "sg-capacity: Servers expected in 7 days": "streamgauge rollup",
    "sg-exporter: Requests to the archive": "streamgauge archive",
    "sg-exporter: Age of the last rollup": "streamgauge rollup",
    "sg-exporter: Forecast file": "set forecasts",
    "sg-exporter: Advisories received": "set events",
    "sg-consumer: Time to ack, distribution": "sample_freq",
    "sg-consumer: Naks, terms, max_deliver": "set events",
    "sg-servers: Messages in per account": "set account_traffic",
}

# Long rows of many settings or numbers; their first columns are those that decide.
LAST: Final = ("Account", "System")
SCROLLED: Final = {
    "sg-capacity: Accounts against their limits",
    "sg-consumer: Settings",
    "sg-fleet: Consumers",
    "sg-fleet: Servers",
    "sg-fleet: Streams",
    "sg-stream: Settings",
}


def drawn() -> list[tuple[str, Json]]:
    return [
        (f"{uid}: {panel['title']}", panel)
        for uid, board in BOARDS.items()
        for panel in panels(board)
    ]


def of_type(kind: str) -> list[tuple[str, Json]]:
    return [(place, panel) for place, panel in drawn() if panel["type"] == kind]


def inner_width(panel: Json) -> float:
    return float(panel["gridPos"]["w"] * COLUMN - GAP)


def test_a_title_fits_into_its_panel() -> None:
    clipped = [
        place
        for place, panel in drawn()
        if text_width(panel["title"]) > inner_width(panel) - HEADER
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


def test_the_rows_of_a_page_of_a_timeline_can_be_read() -> None:
    """Below 18 pixels Grafana leaves the texts out; around the rows are header, axis and pages."""
    low = [
        place
        for place, panel in of_type("state-timeline")
        if (panel["gridPos"]["h"] * 38 - 104) / panel["options"]["perPage"] < 18
    ]
    assert low == []


def states(panel: Json) -> dict[str, Json]:
    return {
        value: state
        for mapping in panel["fieldConfig"]["defaults"]["mappings"]
        if mapping["type"] == "value"
        for value, state in mapping["options"].items()
    }


def test_an_empty_state_timeline_shows_its_reason() -> None:
    """Grafana ignores `noValue` there and complains about a missing time field: a query must answer."""
    silent = []
    for place, panel in of_type("state-timeline"):
        reason = panel["fieldConfig"]["defaults"]["noValue"]
        answers = panel["targets"][-1]["expr"].lstrip("(").startswith("vector(-1) unless ")
        if not answers or states(panel).get("-1", {}).get("text") != reason:
            silent.append(place)
    assert silent == []


def test_every_other_kind_of_panel_shows_its_no_value() -> None:
    kinds = {panel["type"] for _, panel in drawn()} - {"text", "state-timeline"}
    assert kinds <= SHOW_NO_VALUE
    silent = [
        place
        for place, panel in drawn()
        if panel["type"] in SHOW_NO_VALUE and not panel["fieldConfig"]["defaults"]["noValue"]
    ]
    assert silent == []


def test_no_value_is_neither_good_nor_bad() -> None:
    """Without a mapping Grafana takes the colour of the first threshold: `no rollups` in green."""
    judged = []
    for place, panel in (*of_type("stat"), *of_type("bargauge")):
        special = [
            m for m in panel["fieldConfig"]["defaults"]["mappings"] if m["type"] == "special"
        ]
        results = [each["options"]["result"]["color"] for each in special]
        if results != [UNKNOWN] or special[0]["options"]["match"] != "null+nan":
            judged.append(place)
    assert judged == []


def test_what_is_optional_says_how_to_turn_it_on() -> None:
    reasons = {place: p["fieldConfig"]["defaults"].get("noValue", "") for place, p in drawn()}
    unclear = [place for place, how in OPTIONAL.items() if how not in reasons[place]]
    assert unclear == []


def test_what_did_not_happen_is_not_missing_data() -> None:
    """The series of such a counter begins with the first event."""
    names = [metric.name for metric in EVENT_TIMES]
    silent = [
        place
        for place, panel in drawn()
        if panel.get("targets")
        and all(any(f"{name}{{" in t["expr"] for name in names) for t in panel["targets"])
        and panel["fieldConfig"]["defaults"]["noValue"] == "no data"
    ]
    assert silent == []


def test_a_legend_begins_with_the_name_and_has_space() -> None:
    wrong = []
    for place, panel in of_type("timeseries"):
        if any(t["legendFormat"].startswith("{{system}}/") for t in panel["targets"]):
            wrong.append(f"{place}: name")
        legend = panel["options"]["legend"]
        below = legend["placement"] == "bottom"
        # A table below a graph shows two and a half rows; at the right it takes from its width.
        if legend["displayMode"] == "table" and (
            below or legend["width"] > inner_width(panel) / 1.8
        ):
            wrong.append(f"{place}: space")
    assert wrong == []


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


def test_the_columns_of_a_table_fit_into_it() -> None:
    """But for system and account at the end, which are the same in most rows."""
    wide = {
        place
        for place, table in of_type("table")
        if sum(width for title, width in widths(table).items() if title not in LAST)
        > inner_width(table)
    }
    assert wide == SCROLLED


def test_the_columns_that_decide_are_on_the_first_screen() -> None:
    (table,) = (panel for place, panel in of_type("table") if place == "sg-fleet: Consumers")
    titles = column_titles(table)
    assert tuple(titles[: len(DECISIVE)]) == DECISIVE
    assert sum(widths(table)[title] for title in DECISIVE) <= 24 * COLUMN


def test_the_fleet_begins_with_what_is_wrong() -> None:
    shown = [panel for panel in panels(BOARDS["sg-fleet"]) if panel["gridPos"]["y"] < 9]
    assert "What is wrong" in [panel["title"] for panel in shown]


def test_every_tile_leads_somewhere() -> None:
    tiles = of_type("stat")
    dead_ends = [place for place, tile in tiles if not tile["fieldConfig"]["defaults"]["links"]]
    assert tiles
    assert dead_ends == []


def test_what_is_wrong_leads_to_runbooks_and_boards_and_begins_with_the_gravest() -> None:
    (table,) = (panel for place, panel in of_type("table") if place == "sg-fleet: What is wrong")
    links = {
        override["matcher"]["options"]: each["value"][0]["url"].partition("?")[0]
        for override in table["fieldConfig"]["overrides"]
        for each in override["properties"]
        if each["id"] == "links"
    }
    assert links == {
        "Consumer": "/d/sg-consumer",
        "Stream": "/d/sg-stream",
        "Server": "/d/sg-servers",
        "Runbook": "${exporter}/docs/runbooks/JetStream${__value.text}",
    }
    assert table["options"]["sortBy"] == [{"displayName": "Level", "desc": True}]


def runbooks() -> set[str]:
    """That the table of conditions links to."""
    (table,) = (panel for place, panel in of_type("table") if place == "sg-fleet: What is wrong")
    return {
        "JetStream" + state["text"]
        for override in table["fieldConfig"]["overrides"]
        if override["matcher"]["options"] == "Runbook"
        for each in override["properties"]
        if each["id"] == "mappings"
        for state in each["value"][0]["options"].values()
    }


def test_every_runbook_of_the_table_exists() -> None:
    known = {path.stem for path in (ROOT / "docs/runbooks").glob("*.md")}
    assert runbooks() - known == set()
    assert runbooks()


def test_the_fleet_asks_once_a_minute() -> None:
    """The step of a query; without it each step of the data source is asked."""
    asking = [panel for panel in panels(BOARDS["sg-fleet"]) if panel.get("targets")]
    assert {panel.get("interval") for panel in asking} == {"1m"}
