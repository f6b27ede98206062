"""The chapters of the report for literal months: numbers, and what is unknown."""

from datetime import date
from typing import Any

import numpy as np
import pytest
from support.rollups.literal_rollups import LiteralRollups
from support.rollups.report_month import (
    BOTH,
    CONSUMER,
    GIB,
    LAST,
    NOVEMBER,
    OCTOBER,
    SERVER,
    STREAM,
    forecast,
    healthy,
    report_of,
    rows_of,
)

from exporter import catalog as c
from spark_rollups.report.facts.columns import quantile
from spark_rollups.report.formatting import Kind, Level
from spark_rollups.report.model import Chapter, Comparison, Report

BUCKET = c.CONSUMER_ACK_SECONDS.name + "_bucket"


def chapter(report: Report, key: str) -> Chapter:
    (found,) = [each for each in report.chapters if each.key == key]
    return found


@pytest.fixture(scope="module")
def good() -> Report:
    return report_of(healthy())


def test_the_chapters_are_all_there_in_order(good: Report) -> None:
    assert [each.key for each in good.chapters] == [
        "owners", "what-if", "months", "year", "limits", "streams", "consumers", "servers", "clocks", "publishing", "abandoned",
        "configuration", "right-sizing", "changes", "data-quality", "method",
    ]  # fmt: skip


def test_every_table_has_its_own_name_and_rows_as_long_as_its_columns(good: Report) -> None:
    names = [table.key for table in good.tables()]
    assert len(set(names)) == len(names)
    for table in good.tables():
        keys = [column.key for column in table.all_columns]
        assert len(set(keys)) == len(keys), table.key
        assert {len(row.values) for row in table.rows} <= {len(keys)}, table.key


def test_a_good_month_has_a_good_headline(good: Report) -> None:
    assert good.front.level is Level.NORMAL
    assert good.front.headline == (
        "No limit will be reached within 90 days, and nothing needs attention."
    )


def test_a_stream_has_its_size_growth_and_limits(good: Report) -> None:
    (row,) = rows_of(good, "streams")
    assert row["bytes"] == pytest.approx(16 * GIB)
    assert row["growth"] == pytest.approx(2.9 * GIB)
    assert row["growth_before"] == pytest.approx(3.0 * GIB)
    assert (row["max_bytes"], row["max_messages"]) == (40 * GIB, float("inf"))
    assert row["fill"] == pytest.approx(0.4)
    assert (row["stored"], row["stored_before"]) == (1_500_000, 1_550_000)
    assert row["discard"] == "new"


def test_only_a_stream_that_refuses_is_marked_when_it_is_full() -> None:
    for discard, level in (("new", Level.CRITICAL), ("old", Level.NORMAL)):
        rollups = LiteralRollups()
        rollups.gauge(c.STREAM_INFO, NOVEMBER, 1, labels={"discard": discard}, **STREAM)
        rollups.gauge(c.STREAM_BYTES, NOVEMBER, 99, **STREAM)
        rollups.gauge(c.STREAM_MAX_BYTES, NOVEMBER, 100, **STREAM)
        (table,) = chapter(report_of(rollups), "streams").tables
        assert table.rows[0].level is level


def test_a_consumer_has_its_worst_day_and_its_share_of_repeats() -> None:
    rollups = healthy()
    rollups.gauge(c.CONSUMER_LAG_SECONDS, [NOVEMBER[6]], 50, high=5000, **CONSUMER)
    (row,) = rows_of(report_of(rollups), "consumers")
    assert (row["lag_seconds"], row["lag_day"], row["lag_seconds_before"]) == (5000, NOVEMBER[6], 5)
    assert row["redelivery_ratio"] == pytest.approx(10 / 50_000)
    assert (row["lost"], row["lag_seconds_usual"], row["not_well"]) == (0, 2, 0)
    assert row["worst_state"] == ""


def test_shares_of_time_are_by_state_and_the_month_before_stands_beside() -> None:
    rollups = healthy()
    rollups.rows["states"].clear()
    rollups.states(c.CONSUMER_VERDICT, OCTOBER, {0: 90, 5: 10}, **CONSUMER)
    rollups.states(c.CONSUMER_VERDICT, NOVEMBER, {0: 50, 2: 10, 3: 15, 7: 25}, **CONSUMER)
    report = report_of(rollups)
    (row,) = rows_of(report, "verdicts")
    assert (row["not_well"], row["not_well_before"]) == (pytest.approx(0.4), pytest.approx(0.1))
    assert (row["ack_floor_stuck"], row["paused"]) == (pytest.approx(0.25), pytest.approx(0.1))
    (figure,) = chapter(report, "consumers").figures
    assert figure.kind == "shares"
    assert sum(mark.width or 0 for mark in figure.rows[0].marks) == pytest.approx(100)
    assert rows_of(report, "consumers")[0]["worst_state"] == "ack floor stuck"


def test_who_was_not_measured_is_unknown_and_not_zero() -> None:
    rollups = LiteralRollups()
    rollups.gauge(c.CONSUMER_UP, NOVEMBER, 1, **CONSUMER)
    rollups.gauge(c.STREAM_UP, NOVEMBER, 1, **STREAM)
    report = report_of(rollups)
    (consumer,) = rows_of(report, "consumers")
    for key in ("lag_seconds", "redelivery_ratio", "lost", "not_well", "worst_state", "deliveries"):
        assert consumer[key] is None, key
    (stream,) = rows_of(report, "streams")
    for key in ("bytes", "growth", "max_bytes", "fill", "stored", "discard"):
        assert stream[key] is None, key
    assert rows_of(report, "servers") == []
    assert "Servers are unknown" in chapter(report, "servers").sentences[0]
    assert (
        report.front.headline
        == "It is unknown when limits will be reached: there is no forecast; nothing else needs attention."
    )
    assert "All comparisons: there is no data of October 2026." in [
        row["what"] for row in rows_of(report, "unknown")
    ]
    assert all(each.before is None for each in report.front.comparisons)


def test_a_server_has_its_fill_errors_and_restarts() -> None:
    rollups = healthy()
    rollups.rows["daily"] = [
        row
        for row in rollups.rows["daily"]
        if row["metric"] != c.SERVER_START_TIMESTAMP_SECONDS.name
    ]
    start = c.SERVER_START_TIMESTAMP_SECONDS
    rollups.gauge(start, BOTH, lambda day: 1.7e9 + (9000 if day >= 50 else 0), **SERVER)
    (row,) = rows_of(report_of(rollups), "servers")
    assert (row["storage_fill"], row["restarts"]) == (pytest.approx(0.3), 1)
    assert (row["version"], row["api_error_ratio"]) == ("2.15.1", 0)


def test_an_account_without_a_limit_shows_no_limit() -> None:
    rollups = healthy()
    rollups.gauge(c.ACCOUNT_STORAGE_USED_BYTES, NOVEMBER, 7, labels={"tier": ""}, account="APP")
    (row,) = rows_of(report_of(rollups), "accounts")
    assert (row["storage_limit_bytes"], row["storage_fill"]) == (float("inf"), float("inf"))


def test_a_clock_is_off_only_beyond_its_uncertainty() -> None:
    rollups = healthy()
    for metric, value in (
        (c.SERVER_CLOCK_OFFSET_SECONDS, -3.0),
        (c.SERVER_CLOCK_UNCERTAINTY_SECONDS, 2.5),
    ):
        rollups.gauge(metric, NOVEMBER, value, server="n2")
    rows = {row["server"]: row for row in rows_of(report_of(rollups), "clocks")}
    assert rows["n2"]["certain_seconds"] == pytest.approx(0.5)
    assert rows["n1"]["certain_seconds"] == pytest.approx(0.018)


def test_publishes_show_whether_duplicates_are_exact() -> None:
    rollups = healthy()
    rollups.gauge(c.STREAM_DEDUPE_EXACT, NOVEMBER, lambda day: 0 if day == 3 else 1, **STREAM)
    rollups.counter(c.STREAM_DEDUPE_HITS, NOVEMBER, 2, **STREAM)
    (row,) = rows_of(report_of(rollups), "publishing")
    assert (row["duplicates"], row["duplicates_counted"]) == (60, "at most")
    assert (row["received"], row["unstored_ratio"], row["rejections"]) == (1_500_000, 0, None)


def test_rejections_stand_by_code_with_their_meaning() -> None:
    rollups = healthy()
    for code, number in (("10071", 1), ("10077", 3), ("19999", 2)):
        labels = {"code": code}
        rollups.counter(c.STREAM_PUBLISH_REJECTIONS, BOTH, number, labels=labels, **STREAM)
    rows = rows_of(report_of(rollups), "rejections")
    assert [(row["code"], row["number"]) for row in rows] == [
        ("10077", 90),
        ("19999", 60),
        ("10071", 30),
    ]
    assert (rows[1]["meaning"], rows[2]["meaning"]) == ("", "wrong last sequence")


def test_checks_of_the_audit_are_new_open_or_fixed() -> None:
    rollups = healthy()
    for check, days in (
        ("old-one", BOTH),
        ("new-one", NOVEMBER[9:]),
        ("fixed-one", BOTH[:45]),
    ):
        labels = {"check": check, "severity": "warn"}
        rollups.gauge(c.STREAM_CONFIG_FINDINGS, days, 2, labels=labels, **STREAM)
    rows = {row["check"]: row for row in rows_of(report_of(rollups), "configuration")}
    assert {check: row["state"] for check, row in rows.items()} == {
        "old-one": "open", "new-one": "new", "fixed-one": "fixed",
    }  # fmt: skip
    assert rows["new-one"]["since"] == NOVEMBER[9]


def test_right_sizing_takes_the_slow_acknowledgements_from_the_histogram() -> None:
    rollups = healthy()
    for bound, number in (("1.0", 90), ("2.0", 100), ("+Inf", 100)):
        rollups.counter(
            c.CONSUMER_ACK_SECONDS, NOVEMBER, number, labels={"le": bound}, name=BUCKET, **CONSUMER
        )
    (row,) = rows_of(report_of(rollups), "sizing_consumers")
    assert row["ack_seconds_p99"] == pytest.approx(1.9)
    assert row["ack_wait_used"] == pytest.approx(1.9 / 30)
    assert (row["ack_pending_peak"], row["ack_pending_used"]) == (300, 0.3)


@pytest.mark.parametrize(
    ("counts", "value"),
    [
        ([0, 0, 0], float("nan")), ([100, 100, 100], 0.99), ([0, 100, 100], 1.99),
        ([0, 98, 100], float("inf")), ([99, 100, 100], 1.0),
    ],
)  # fmt: skip
def test_a_quantile_of_a_histogram_is_that_of_prometheus(counts: list[float], value: float) -> None:
    found = quantile(np.array([1.0, 2.0, float("inf")]), np.array(counts, float), 0.99)
    assert found == pytest.approx(value, nan_ok=True)


def test_a_histogram_without_its_last_bucket_is_unknown() -> None:
    assert np.isnan(quantile(np.array([1.0, 2.0]), np.array([1.0, 2.0]), 0.99))


def test_changes_stand_on_their_day_the_newest_first() -> None:
    rollups = healthy()
    rollups.counter(c.STREAM_RECREATED, NOVEMBER, lambda day: day == 4, **STREAM)
    rollups.counter(c.CONSUMER_RECREATED, NOVEMBER, lambda day: 2 * (day == 20), **CONSUMER)
    rollups.gauge(c.STREAM_UP, NOVEMBER[7:12], 1, account="APP", stream="SHORT")
    rollups.gauge(c.SERVER_INFO, NOVEMBER[25:], 1, labels={"version": "2.16.0"}, server="n9")
    rollups.gauge(c.SERVER_INFO, NOVEMBER[:25], 1, labels={"version": "2.15.9"}, server="n9")
    rows = rows_of(report_of(rollups), "changes")
    events = [(row["day"].day, row["what"], row["stream"] or row["server"]) for row in rows]
    assert events == [
        (26, "version changed", "n9"),
        (21, "recreated or reset", "ORDERS"),
        (12, "stream last seen", "SHORT"),
        (8, "stream first seen", "SHORT"),
        (5, "recreated", "ORDERS"),
    ]
    assert rows[0]["note"] == "from 2.15.9 to 2.16.0"
    assert rows[1]["number"] == 2


def test_a_changed_limit_is_reported_with_both_values() -> None:
    rollups = healthy()
    rollups.rows["daily"] = [
        row for row in rollups.rows["daily"] if row["metric"] != c.STREAM_MAX_BYTES.name
    ]
    rollups.gauge(c.STREAM_MAX_BYTES, BOTH, lambda day: (20 if day < 40 else 40) * GIB, **STREAM)
    (row,) = rows_of(report_of(rollups), "changes")
    assert (row["what"], row["day"]) == ("limit changed", BOTH[40])
    assert row["note"].replace("\u00a0", " ") == "max_bytes from 20.0 GiB to 40.0 GiB"


def test_elections_are_summed_up_by_stream() -> None:
    rollups = healthy()
    rollups.counter(
        c.STREAM_LEADER_CHANGES, NOVEMBER, lambda day: (day == 3) + 2 * (day == 9), **STREAM
    )
    report = report_of(rollups)
    assert rows_of(report, "changes") == []
    (row,) = rows_of(report, "elections")
    assert (row["number"], row["days"], row["worst_day"]) == (3, 2, NOVEMBER[9])


def test_missing_days_and_hours_are_reported_and_drawn() -> None:
    rollups = healthy()
    for day in NOVEMBER[6:8]:
        del rollups.covered[day]
    rollups.cover([NOVEMBER[9]], hours=0b1111)
    report = report_of(rollups)
    what = [row["what"].replace("\u00a0", " ") for row in rows_of(report, "unknown")]
    assert what[:2] == ["Everything on 7 to 8 Nov: no data.", "Some hours on 10 Nov."]
    (strip,) = chapter(report, "data-quality").figures
    assert strip.kind == "strip"
    days = {
        round(mark.at * 30 // 100): mark.height
        for mark in strip.rows[0].marks
        if mark.kind == "there"
    }
    assert [days.get(day) for day in range(6, 10)] == [None, None, 100, round(100 * 4 / 24)]
    assert "28 of 30 days have data, 652 of 720 hours." in chapter(report, "data-quality").sentences


def test_a_newest_day_that_ends_early_is_reported() -> None:
    rollups = healthy()
    rollups.cover(NOVEMBER[-1:], hours=2**14 - 1)
    what = [row["what"].replace("\u00a0", " ") for row in rows_of(report_of(rollups), "unknown")]
    assert what[0] == "Everything after 14:00 UTC on 30 Nov 2026: no data."


def test_a_month_that_is_not_over_is_reported() -> None:
    rollups = healthy()
    for day in NOVEMBER[12:]:
        del rollups.covered[day]
    report = report_of(rollups)
    assert report.covered[-1] == date(2026, 11, 12)
    what = [row["what"].replace("\u00a0", " ") for row in rows_of(report, "unknown")]
    assert "Everything after 12 Nov 2026: the data ends before the month." in what


def test_a_skipped_request_is_reported_with_its_reason() -> None:
    rollups = healthy()
    labels = {"request": "subsz", "reason": "ceiling"}
    rollups.gauge(c.REQUEST_SKIPPED, NOVEMBER, lambda day: day >= 15, labels=labels)
    rollups.gauge(c.REQUEST_SUCCESS, NOVEMBER, 0.9, labels={"request": "jsz"})
    rows = rows_of(report_of(rollups), "requests")
    assert [(row["request"], row["why"]) for row in rows] == [
        ("subsz", "skipped: ceiling"), ("jsz", "failed"),
    ]  # fmt: skip
    assert [row["share"] for row in rows] == [pytest.approx(0.5), pytest.approx(0.1)]


def filling(**changes: object) -> LiteralRollups:
    rollups = healthy()
    rollups.asof.clear()
    dates = {
        "earliest": date(2026, 12, 20),
        "likely": date(2027, 1, 2),
        "latest": date(2027, 1, 20),
    }
    worse = {"outlook": "act", "not_before": None, **dates, **changes}
    rollups.forecast(LAST, **forecast(**worse))
    return rollups


def test_the_first_page_has_the_date_of_a_limit_and_how_it_moved() -> None:
    rollups = filling()
    before = {"outlook": "act", "likely": date(2027, 1, 12), "not_before": None}
    rollups.forecast(date(2026, 10, 31), **forecast(**before))
    front = report_of(rollups).front
    assert front.headline.replace("\u00a0", " ") == (
        "Stream ORDERS will be full around 2 Jan 2027. Nothing is due today; 1 action by 13 Dec 2026."
    )
    assert front.sentences[0].replace("\u00a0", " ") == (
        "Stream ORDERS reaches its limit around 2 Jan 2027 (20 Dec 2026 to 20 Jan 2027); a month ago it "
        "was 12 Jan 2027, 10 days later."
    )
    assert front.full is not None
    assert [row.name for row in front.full.rows] == ["ORDERS"]


def test_a_stream_that_drops_its_oldest_is_no_bad_news() -> None:
    rollups = filling(outlook="by design", earliest=None, likely=None, latest=None)
    report = report_of(rollups)
    assert report.findings == ()
    assert report.front.full is None
    assert rows_of(report, "limits")[0]["outlook"] == "full by design: discards the oldest"


def test_a_limit_has_its_history_drawn_with_a_gap_where_days_are_missing() -> None:
    rollups = filling()
    for day in NOVEMBER[6:8]:
        del rollups.covered[day]
    rollups.rows["daily"] = [
        row for row in rollups.rows["daily"] if row["day"] not in NOVEMBER[6:8]
    ]
    (fans,) = chapter(report_of(rollups), "limits").figures
    (fan,) = fans.fans
    assert len(fan.days) == 59
    assert (fan.limit, fan.is_bytes, len(fan.ahead)) == (40 * GIB, True, 3)


@pytest.mark.parametrize(("actual", "verdict"), [(17.0, "inside"), (30.0, "outside")])
def test_forecasts_of_a_month_ago_are_compared_with_actual_levels(
    actual: float, verdict: str
) -> None:
    rollups = healthy()
    rollups.forecast(date(2026, 10, 31), **forecast())
    rollups.rows["daily"] = [
        row
        for row in rollups.rows["daily"]
        if row["metric"] != c.STREAM_BYTES.name or row["day"] != LAST
    ]
    rollups.gauge(c.STREAM_BYTES, [LAST], actual * GIB, **STREAM)
    (row,) = rows_of(report_of(rollups), "forecast_check")
    assert (row["day"], row["verdict"], row["came"]) == (LAST, verdict, actual * GIB)
    assert (row["low"], row["high"]) == (16 * GIB, 18 * GIB)


def test_actual_levels_are_read_once_for_all_forecasts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One reading for each of thousands of limits took minutes."""
    readings = []
    for streams in (1, 40):
        rollups, reads = healthy(), 0
        for number in range(streams):
            named = {**STREAM, "stream": f"S{number}"}
            rollups.forecast(date(2026, 10, 31), **{**forecast(), **named})
            rollups.gauge(c.STREAM_BYTES, [LAST], 17 * GIB, **named)
        plain = rollups.table

        def counted(*args: Any, plain: Any = plain, **more: Any) -> Any:
            nonlocal reads
            reads += 1
            return plain(*args, **more)

        monkeypatch.setattr(rollups, "table", counted)
        assert len(rows_of(report_of(rollups), "forecast_check")) == streams
        readings.append(reads)
    assert readings[0] == readings[1] > 0


def test_sums_are_compared_by_covered_day() -> None:
    rollups = healthy()
    for day in NOVEMBER[15:]:
        del rollups.covered[day]
    rollups.rows["daily"] = [
        row for row in rollups.rows["daily"] if row["day"] not in NOVEMBER[15:]
    ]
    stored = {each.key: each for each in report_of(rollups).front.comparisons}["stored"]
    assert (stored.now, stored.before) == (50_000, 50_000)


def test_without_the_month_before_the_health_of_this_month_is_known() -> None:
    rollups = healthy()
    for day in OCTOBER:
        del rollups.covered[day]
    for name, rows in rollups.rows.items():
        rollups.rows[name] = [row for row in rows if row["day"] not in OCTOBER]
    found = {each.key: each for each in report_of(rollups).front.comparisons}
    assert (found["lag"].now, found["lag"].before, found["lag"].basis) == (5, None, "worst")
    assert (found["not_well"].now, found["not_well"].before) == (0, None)


def test_worse_is_a_tenth_more_of_something_bad() -> None:
    def level(now: float | None, before: float | None, bad: bool | None = True) -> Level:
        return Comparison("x", "X", Kind.COUNT, now, before, bad).level

    assert level(110, 100) is Level.WARNING
    assert level(109, 100) is Level.NORMAL
    assert level(1, 0) is Level.WARNING
    assert level(0, 0) is Level.NORMAL
    assert level(200, 100, None) is Level.NORMAL
    assert level(None, 100) is Level.NORMAL
    assert level(80, 100, False) is Level.WARNING


def test_large_trends_are_shown_and_small_ones_are_not() -> None:
    rollups = healthy()
    index = {"account": "APP", "stream": "ORDERS", "consumer": "billing", "server": ""}
    for metric, level, per_day, direction in (
        (c.CONSUMER_NUM_PENDING, 5000.0, 100.0, "growing"),
        (c.CONSUMER_LAG_SECONDS, 2.0, 1.0, "growing"),
        (c.CONSUMER_EXHAUSTED_MESSAGES, 10.0, -1.0, "falling"),
        (c.SERVER_HA_ASSETS, 10.0, 0.0, "steady"),
    ):
        rollups.asof[LAST]["trends"].append({
            "as_of": LAST, "metric": metric.name, "kind": "gauge", "system": "prod", **index,
            "labels": [], "level": level, "per_day": per_day, "low": per_day, "high": per_day,
            "direction": direction, "stepped": 0.0, "days": 28,
        })  # fmt: skip
    rows = rows_of(report_of(rollups), "trends")
    assert [(row["what"], row["direction"]) for row in rows] == [
        ("messages pending", "growing"), ("abandoned messages", "falling"),
    ]  # fmt: skip


def test_two_systems_are_kept_apart() -> None:
    rollups = healthy()
    rollups.gauge(c.STREAM_BYTES, NOVEMBER, 1, system="test", **STREAM)
    rollups.gauge(c.UP, NOVEMBER, 1, system="test")
    report = report_of(rollups)
    assert report.systems == ("prod", "test")
    assert [row["system"] for row in rows_of(report, "streams")] == ["prod", "test"]
    (strip,) = chapter(report, "data-quality").figures
    assert [row.name for row in strip.rows] == ["any data", "prod", "test"]


def conditions(rollups: LiteralRollups, condition: str, held: float, known: float | None) -> None:
    rollups.states(
        c.CONSUMER_CONDITION_START_TIMESTAMP_SECONDS, NOVEMBER[:10], {1: held}, **CONSUMER
    )
    for row in rollups.rows["states"]:
        if row["metric"] == c.CONSUMER_CONDITION_START_TIMESTAMP_SECONDS.name and not row["labels"]:
            row["labels"], row["known_seconds"] = [("condition", condition)], known


def test_conditions_are_shares_of_the_watched_time() -> None:
    rollups = healthy()  # has a verdict for a whole day on each day
    conditions(rollups, "ack_pending_full", 8_640, 86_400)
    conditions(rollups, "stalled", 864, 86_400)
    rows = rows_of(report_of(rollups), "conditions")
    assert [(row["condition"], row["seconds"], row["share"]) for row in rows] == [
        ("ack pending full", 86_400, pytest.approx(1 / 30)),
        ("stalled", 8_640, pytest.approx(1 / 300)),
    ]


def test_the_share_of_a_condition_is_unknown_where_its_consumer_was_not_watched() -> None:
    rollups = healthy()
    rollups.rows["states"].clear()
    conditions(rollups, "stalled", 864, None)
    (row,) = rows_of(report_of(rollups), "conditions")
    assert (row["seconds"], row["share"]) == (8_640, None)


def test_a_request_that_failed_leaves_its_values_unknown() -> None:
    rollups = healthy()
    rollups.gauge(c.REQUEST_SUCCESS, NOVEMBER, 0.6, labels={"request": "jsz"})
    what = [row["what"].replace("\u00a0", " ") for row in rows_of(report_of(rollups), "unknown")]
    assert "What depends on request jsz of prod, for 40 % of the time: it failed." in what
