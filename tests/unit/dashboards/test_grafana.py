"""Declared panels as the JSON of Grafana, without the additions of grafanalib."""

from __future__ import annotations

from typing import Any

import pytest

from dashboards.grafana import Naming, render
from dashboards.panels import variables
from dashboards.panels.colours import ANY, BAD, STATE_MAPPING, Line, falling, rising
from dashboards.panels.model import (
    BarGauge,
    Board,
    Column,
    Guide,
    Heatmap,
    Override,
    Panel,
    Query,
    Row,
    Stat,
    StateTimeline,
    Table,
    Target,
    Text,
    TimeSeries,
)
from dashboards.queries import Scope
from exporter import catalog as c

GUIDE = Guide("It means.", "It is bad.", "Do it.")
VARIABLES = (variables.JOB, variables.SYSTEM, variables.ACCOUNT)
SCOPE = Scope(("system", "account"))
BYTES = Query(SCOPE.now(c.STREAM_BYTES), "{{stream}}")


def rendered(*panels: Panel, naming: Naming | None = None) -> dict[str, Any]:
    board = Board("key", "Title", "Text.", VARIABLES, (Row("row", panels),))
    return render(board, naming or Naming())


def drawn(panel: Panel) -> dict[str, Any]:
    found: dict[str, Any] = rendered(panel)["panels"][1]
    return found


def graph(**changes: Any) -> TimeSeries:
    return TimeSeries(title="Size", guide=GUIDE, queries=(BYTES,), **changes)


def test_the_description_has_the_guide_and_the_metrics() -> None:
    text = drawn(graph())["description"]
    assert text.split("\n\n") == [
        "It means.",
        "**Bad:** It is bad.",
        "**Do:** Do it.",
        "Metrics: `streamgauge_stream_bytes`",
    ]


def test_the_description_has_thresholds_and_requirements() -> None:
    acks = Query(SCOPE.steady_rate(c.CONSUMER_ACKS))
    panel = TimeSeries(
        title="Acks", guide=GUIDE, queries=(acks,), steps=rising(bad=Line(5, "redelivery_ratio"))
    )
    text = drawn(panel)["description"]
    assert "Colours change at: `redelivery_ratio`" in text
    assert "May be empty: needs `detail: full`" in text


def test_thresholds_are_numbers_with_nothing_at_the_bottom() -> None:
    found = drawn(graph(steps=rising(Line(0.5), Line(0.9))))["fieldConfig"]["defaults"]
    assert found["thresholds"]["steps"] == [
        {"color": "green", "value": None},
        {"color": "orange", "value": 0.5},
        {"color": "red", "value": 0.9},
    ]
    assert found["custom"]["thresholdsStyle"] == {"mode": "dashed"}


def test_without_a_threshold_no_line_is_drawn() -> None:
    assert drawn(graph())["fieldConfig"]["defaults"]["custom"]["thresholdsStyle"]["mode"] == "off"


def test_less_is_worse_where_it_falls() -> None:
    colours = [step.colour for step in falling(Line(20), Line(10))]
    assert colours == ["red", "orange", "green"]
    assert [step.colour for step in falling(warn=Line(20))] == ["orange", "green"]
    assert [step.colour for step in falling(bad=Line(20))] == ["red", "green"]


def test_every_verdict_has_a_text_and_a_colour() -> None:
    panel = StateTimeline(title="Verdict", guide=GUIDE, queries=(BYTES,), mapping=STATE_MAPPING)
    (mapping,) = drawn(panel)["fieldConfig"]["defaults"]["mappings"]
    texts = {int(value): each["text"] for value, each in mapping["options"].items()}
    assert texts == dict(enumerate((*c.VERDICTS, "has warnings", "critical"))) | {-1: "no data"}
    assert mapping["options"]["5"]["color"] == BAD


def test_a_query_uses_the_chosen_data_source_and_a_range() -> None:
    (target,) = drawn(graph())["targets"]
    assert target["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    assert (target["range"], target["instant"], target["refId"]) == (True, False, "A")
    assert "intervalFactor" not in target


def test_a_table_has_instant_queries_and_one_row_per_asset() -> None:
    table = Table(
        title="Streams",
        guide=GUIDE,
        identity=c.STREAM,
        shown_labels=("leader",),
        columns=(
            Column("", SCOPE.info(c.STREAM_INFO, "leader")),
            Column("Size", SCOPE.now(c.STREAM_BYTES), "bytes", rising(warn=ANY)),
        ),
        sort_by="Size",
        links=(Target.STREAM,),
    )
    found = drawn(table)
    assert [target["instant"] for target in found["targets"]] == [True, True]
    merge, organize = found["transformations"]
    assert merge["id"] == "merge"
    assert organize["options"]["renameByName"]["Value #B"] == "Size"
    assert organize["options"]["renameByName"]["leader"] == "Leader"
    assert organize["options"]["excludeByName"] == {"Time": True, "Value #A": True}
    link = found["fieldConfig"]["overrides"][-1]
    assert link["matcher"]["options"] == "Stream"
    assert "var-stream=${__data.fields.Stream}" in link["properties"][0]["value"][0]["url"]


def test_the_only_column_of_a_table_is_named_with_and_without_its_letter() -> None:
    column = Column("Limit", SCOPE.now(c.STREAM_MAX_BYTES), "bytes")
    table = Table(title="T", guide=GUIDE, identity=c.STREAM, columns=(column,), sort_by="Limit")
    options = drawn(table)["transformations"][1]["options"]
    for field in ("Value", "Value #A"):
        assert options["renameByName"][field] == "Limit"
        assert field in options["indexByName"]


def test_a_link_uses_labels_of_the_series_or_variables() -> None:
    whole = TimeSeries(
        title="All",
        guide=GUIDE,
        queries=(Query(SCOPE.now(c.STREAM_BYTES).sum_by("system")),),
        links=(Target.STREAM,),
    )
    (link,) = drawn(whole)["fieldConfig"]["defaults"]["links"]
    assert link["url"] == (
        "/d/sg-stream?${datasource:queryparam}&${job:queryparam}"
        "&var-system=${__field.labels.system}&${account:queryparam}&${__url_time_range}"
    )


def test_prometheus_buckets_are_drawn_as_they_are() -> None:
    buckets = Query(SCOPE.buckets(c.CONSUMER_ACK_SECONDS).sum_by("le"), "{{le}}")
    found = drawn(Heatmap(title="Acks", guide=GUIDE, queries=(buckets,)))
    assert found["options"]["calculate"] is False
    assert found["targets"][0]["format"] == "heatmap"
    assert "dataFormat" not in found


def test_an_override_dashes_a_limit() -> None:
    found = drawn(graph(overrides=(Override("/^limit/", BAD, dashed=True),)))
    (override,) = found["fieldConfig"]["overrides"]
    assert override["matcher"] == {"id": "byRegexp", "options": "/^limit/"}
    assert [each["id"] for each in override["properties"]] == [
        "color",
        "custom.lineStyle",
        "custom.fillOpacity",
    ]


def test_a_text_has_no_query() -> None:
    found = drawn(Text(title="Text", content="**so**"))
    assert found["options"]["content"] == "**so**"
    assert "targets" not in found
    assert "datasource" not in found


def test_collapsed_panels_are_inside_their_row() -> None:
    board = Board("key", "T", "W.", VARIABLES, (Row("row", (graph(),), collapsed=True),))
    (row,) = render(board, Naming())["panels"]
    assert [panel["title"] for panel in row["panels"]] == ["Size"]


def test_names_can_be_chosen() -> None:
    board = rendered(graph(links=(Target.STREAM,)), naming=Naming("team-a-", "team-a", "Thanos"))
    assert board["uid"] == "team-a-key"
    assert board["tags"] == ["jetstream", "team-a"]
    assert board["links"][0]["tags"] == ["team-a"]
    source = board["templating"]["list"][0]
    assert source["current"] == {"text": "Thanos", "value": "Thanos"}
    (link,) = board["panels"][1]["fieldConfig"]["defaults"]["links"]
    assert link["url"].startswith("/d/team-a-stream?")


def test_all_selects_every_value() -> None:
    variables = {each["name"]: each for each in rendered(graph())["templating"]["list"]}
    assert variables["system"]["current"] == {"text": ["All"], "value": ["$__all"]}
    assert variables["datasource"]["current"] == {"text": "default", "value": "default"}


def test_a_bar_has_its_scale_and_an_instant_query() -> None:
    bar = BarGauge(title="Full", guide=GUIDE, queries=(BYTES,), maximum=1)
    found = drawn(bar)
    assert (found["fieldConfig"]["defaults"]["min"], found["fieldConfig"]["defaults"]["max"]) == (
        0,
        1,
    )
    assert "fieldOptions" not in found["options"]
    assert found["targets"][0]["instant"] is True


def test_a_stat_shows_the_present_value_or_a_text() -> None:
    """Of a range, Grafana would show the last value of a series that ended long ago."""
    found = drawn(Stat(title="Size", guide=GUIDE, queries=(BYTES,), no_value="–"))
    assert [(each["instant"], each["range"]) for each in found["targets"]] == [(True, False)]
    assert found["options"]["reduceOptions"]["calcs"] == ["lastNotNull"]
    assert found["fieldConfig"]["defaults"]["noValue"] == "–"


def test_an_unknown_kind_of_panel_is_an_error() -> None:
    with pytest.raises(TypeError, match="Grafana has no panel for a Panel"):
        rendered(Panel(title="?", guide=GUIDE, width=1, height=1))


def test_the_same_board_is_the_same_json_twice() -> None:
    assert rendered(graph()) == rendered(graph())
