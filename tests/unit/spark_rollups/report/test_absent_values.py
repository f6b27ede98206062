"""What was absent, gone or never known must not read as if all were well."""

from datetime import date

import numpy as np
import pytest
from support.rollups.literal_rollups import LiteralRollups, month_days
from support.rollups.report_month import (
    BOTH,
    CONSUMER,
    GIB,
    LAST,
    MONTH,
    NOVEMBER,
    OCTOBER,
    STREAM,
    forecast,
    healthy,
    report_of,
    rows_of,
)

from alerts import thresholds
from exporter import catalog as c
from spark_rollups.report.facts.monthly_facts import Facts, read_facts
from spark_rollups.report.findings.finding import Finding, Severity
from spark_rollups.report.formatting import Level
from spark_rollups.report.model import Report

GONE = {"account": "APP", "stream": "GONE"}
SEPTEMBER = month_days(2026, 9)


def facts_of(rollups: LiteralRollups) -> Facts:
    return read_facts(rollups, MONTH, thresholds.BY_NAME)


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def sentences(report: Report, key: str) -> list[str]:
    (found,) = [each for each in report.chapters if each.key == key]
    return [plain(each) for each in found.sentences]


def unknown(report: Report) -> list[str]:
    return [plain(row["what"]) for row in rows_of(report, "unknown")]


def of_code(report: Report, code: str) -> list[Finding]:
    return [each for each in report.findings if each.code == code]


def without(rollups: LiteralRollups, metric: c.Metric, *days: date, system: str = "prod") -> None:
    rollups.rows["daily"] = [
        row
        for row in rollups.rows["daily"]
        if (row["metric"], row["system"]) != (metric.name, system) or row["day"] not in days
    ]


# --- the headline ---------------------------------------------------------------------------------

UNKNOWN = {"outlook": "unknown", "reason": "10 days with points, 24 are needed", "not_before": None}
WATCH = {"outlook": "watch", "earliest": date(2027, 1, 9), "not_before": None}


def headline(*forecasts: dict[str, object]) -> tuple[Level, str]:
    rollups = healthy()
    rollups.asof.clear()
    for number, changes in enumerate(forecasts):
        rollups.forecast(LAST, **forecast(**changes, stream=f"S{number}"))
    front = report_of(rollups).front
    return front.level, plain(front.headline)


def test_a_limit_without_a_date_is_no_limit_that_will_not_be_reached() -> None:
    assert headline(UNKNOWN) == (
        Level.WARNING,
        "1 limit has no date yet; nothing else needs attention.",
    )
    assert headline(UNKNOWN, UNKNOWN, {}) == (
        Level.WARNING,
        "2 limits have no date yet; nothing else needs attention.",
    )


def test_a_limit_that_may_be_reached_is_in_the_headline() -> None:
    assert headline(WATCH) == (
        Level.WARNING,
        "1 limit may be reached within 90 days; nothing else needs attention.",
    )
    both = (
        "1 limit may be reached within 90 days and 1 limit has no date yet; "
        "nothing else needs attention."
    )
    assert headline(WATCH, UNKNOWN) == (Level.WARNING, both)


def test_the_headline_claims_no_free_capacity_without_a_forecast() -> None:
    rollups = healthy()
    rollups.asof.clear()
    rollups.gauge(c.SERVER_STORAGE_USED_BYTES, NOVEMBER, 95, server="n2")
    rollups.gauge(c.SERVER_STORAGE_MAX_BYTES, NOVEMBER, 100, server="n2")
    front = report_of(rollups).front
    assert front.level is Level.CRITICAL
    assert front.headline == (
        "Due today: add storage to n2, or one server more. It is unknown when limits will be reached: "
        "there is no forecast."
    )


def test_what_is_only_possible_may_happen() -> None:
    rollups = healthy()
    rollups.asof.clear()
    rollups.forecast(LAST, **forecast(**WATCH))
    (found,) = of_code(report_of(rollups), "CAP-STREAM-FULL-SOON")
    assert "ORDERS may reach its limit" in found.summary


# --- requests, series and deliveries that were not counted ----------------------------------------


def test_a_request_skipped_for_half_of_the_month_is_half_of_the_time() -> None:
    rollups = healthy()
    labels = {"request": "subsz", "reason": "ceiling"}
    rollups.gauge(c.REQUEST_SKIPPED, NOVEMBER[15:], 1, labels=labels)
    (row,) = rows_of(report_of(rollups), "requests")
    assert row["share"] == pytest.approx(0.5)


def test_dropped_series_are_counted_by_poll_and_reported() -> None:
    rollups = healthy()
    rollups.counter(c.SERIES_DROPPED, NOVEMBER, 10)
    sentences_of = sentences(report_of(rollups), "data-quality")
    assert any("dropped series" in each and "300" in each for each in sentences_of)


def test_a_consumer_that_delivers_once_can_abandon_messages() -> None:
    rollups = healthy()
    rollups.gauge(c.CONSUMER_MAX_DELIVER, NOVEMBER, 1, **CONSUMER)
    sentences_of = sentences(report_of(rollups), "abandoned")
    reached, once = sentences_of
    assert "max_deliver" in reached
    assert "1 consumer" in once
    assert "max_deliver 1" in once


# --- servers that went away -----------------------------------------------------------------------


def test_a_dead_server_misses_the_polls_of_the_rest_of_the_month() -> None:
    rollups = healthy()
    rollups.gauge(c.SERVER_UP, NOVEMBER[:10], 1, server="n2")
    report = report_of(rollups)
    by_server = {row["server"]: row["up_ratio"] for row in rows_of(report, "servers")}
    assert by_server == {"n1": 1.0, "n2": pytest.approx(10 / 30)}
    (found,) = of_code(report, "SRV-NOT-RESPONDING")
    assert (found.severity, found.subject.server) == (Severity.WARNING, "n2")
    assert plain(found.summary).endswith("; it was last seen on 10 Nov 2026.")


def test_a_server_that_came_within_the_month_is_not_blamed_for_the_time_before() -> None:
    rollups = healthy()
    rollups.gauge(c.SERVER_UP, NOVEMBER[20:], 1, server="n2")
    rollups.rows["daily"][-10]["count"] = 6  # it started in the evening
    rollups.rows["daily"][-10]["sum"] = 6.0
    assert of_code(report_of(rollups), "SRV-NOT-RESPONDING") == []


def test_polls_of_another_system_are_not_expected_of_a_server() -> None:
    rollups = healthy()
    rollups.gauge(c.UP, NOVEMBER[:10], 1, system="test")
    rollups.gauge(c.SERVER_UP, NOVEMBER[:10], 1, system="test", server="t1")
    assert of_code(report_of(rollups), "SRV-NOT-RESPONDING") == []


# --- at the end of the month ----------------------------------------------------------------------


def test_a_stream_that_is_gone_holds_nothing_at_the_end() -> None:
    rollups = healthy()
    rollups.gauge(c.STREAM_BYTES, NOVEMBER[:12], 100 * GIB, **GONE)
    report = report_of(rollups)
    held = {each.key: each.now for each in report.front.comparisons}["bytes"]
    assert held == pytest.approx(16 * GIB)
    assert any("to 16.0 GiB" in plain(each) for each in report.front.sentences)
    assert "Together they held 16.0 GiB at the end" in sentences(report, "streams")[1]
    sizes = {row["stream"]: row["bytes"] for row in rows_of(report, "streams")}
    assert sizes == {"ORDERS": pytest.approx(16 * GIB), "GONE": None}


def test_who_was_there_the_day_before_the_newest_still_counts() -> None:
    rollups = LiteralRollups()
    rollups.gauge(c.STREAM_UP, NOVEMBER, 1, **STREAM)
    rollups.gauge(c.STREAM_BYTES, NOVEMBER[:-1], 5, **STREAM)
    rollups.gauge(c.STREAM_BYTES, NOVEMBER[:-2], 7, **GONE)
    now = facts_of(rollups).streams.now
    np.testing.assert_array_equal(now.end(c.STREAM_BYTES), [np.nan, 5])
    assert now.last(c.STREAM_BYTES).tolist() == [7, 5]


@pytest.mark.parametrize("until", [10, 29])
def test_a_limit_that_was_lifted_does_not_stay(until: int) -> None:
    rollups = healthy()
    without(rollups, c.STREAM_MAX_BYTES, *NOVEMBER[until:])
    (row,) = rows_of(report_of(rollups), "streams")
    assert row["max_bytes"] == np.inf


def test_a_server_or_account_that_is_gone_is_not_high_at_the_end() -> None:
    rollups = healthy()
    for used, most in (
        (c.SERVER_STORAGE_USED_BYTES, c.SERVER_STORAGE_MAX_BYTES),
        (c.ACCOUNT_STORAGE_USED_BYTES, c.ACCOUNT_STORAGE_LIMIT_BYTES),
    ):
        index = {"server": "n9"} if used is c.SERVER_STORAGE_USED_BYTES else {"account": "OLD"}
        rollups.gauge(used, NOVEMBER[:12], 99, **index)
        rollups.gauge(most, NOVEMBER[:12], 100, **index)
    report = report_of(rollups)
    assert of_code(report, "CAP-SERVER-STORAGE-HIGH") == []
    assert of_code(report, "CAP-ACCOUNT-HIGH") == []


def test_a_consumer_that_is_gone_left_nothing_lying_at_the_end() -> None:
    rollups = healthy()
    gone = {**STREAM, "consumer": "gone"}
    rollups.gauge(c.CONSUMER_EXHAUSTED_MESSAGES, NOVEMBER[:12], 9, **gone)
    report = report_of(rollups)
    (found,) = of_code(report, "CON-MESSAGES-ABANDONED")
    assert found.severity is Severity.NOTE
    assert "at least 9 ran out of max_deliver in the month" in plain(found.summary)
    assert "at least 0 of them remained" in sentences(report, "abandoned")[0]


def test_a_limit_that_was_lifted_reserves_nothing() -> None:
    rollups = healthy()
    index = {"account": "APP", "stream": "WIDE"}
    rollups.gauge(c.STREAM_BYTES, NOVEMBER, GIB, **index)
    rollups.gauge(c.STREAM_MAX_BYTES, NOVEMBER[:20], 100 * GIB, **index)
    assert of_code(report_of(rollups), "SIZE-RESERVED-UNUSED") == []


# --- missing days ---------------------------------------------------------------------------------


def test_days_missing_at_the_end_count_once_later_data_exist() -> None:
    rollups = healthy()
    for day in NOVEMBER[27:]:
        del rollups.covered[day]
    assert facts_of(rollups).missing == ()
    rollups.cover([date(2026, 12, 1)])
    assert facts_of(rollups).missing == tuple(NOVEMBER[27:])
    unknowns = unknown(report_of(rollups))
    assert unknowns[0] == "Everything on 28 to 30 Nov: no data."
    assert not [each for each in unknowns if "the data end there" in each]


def test_a_forecast_from_before_the_month_before_is_not_a_month_old() -> None:
    rollups = healthy()
    rollups.cover(SEPTEMBER)
    rollups.forecast(SEPTEMBER[-1], **forecast())
    assert facts_of(rollups).forecasts_before == ()
    rollups.forecast(OCTOBER[0], **forecast())
    assert len(facts_of(rollups).forecasts_before) == 1


def test_a_system_without_data_is_reported_by_name() -> None:
    rollups = healthy()
    rollups.gauge(c.UP, BOTH, 1, system="test")
    without(rollups, c.UP, *NOVEMBER[:3], system="test")
    for row in rollups.rows["daily"]:
        if row["system"] == "test" and row["day"] == NOVEMBER[9]:
            row["hours"] = 5
    report = report_of(rollups)
    assert unknown(report)[:2] == [
        "Everything of system test on 1 to 3 Nov: no data.",
        "Some hours of system test on 10 Nov.",
    ]
    (found,) = of_code(report, "DATA-DAYS-MISSING")
    assert found.severity is Severity.WARNING
    assert plain(found.summary) == "System test lacks 1 to 3 Nov and 10 Nov, in whole or in part."


def test_a_system_that_came_within_the_month_lacks_nothing_before() -> None:
    rollups = healthy()
    rollups.gauge(c.UP, NOVEMBER[10:], 1, system="test")
    assert of_code(report_of(rollups), "DATA-DAYS-MISSING") == []


# --- tiers of an account --------------------------------------------------------------------------


def tier(name: str, **changes: object) -> dict[str, object]:
    return forecast(**{
        "subject": "account", "metric": c.ACCOUNT_STORAGE_USED_BYTES.name, "stream": "",
        "limit_name": f"storage {name}", **changes,
    })  # fmt: skip


def test_the_tiers_of_an_account_are_compared_with_their_own_history() -> None:
    rollups = healthy()
    rollups.asof.clear()
    for name, level in (("R1", 17 * GIB), ("R3", 30 * GIB)):
        rollups.forecast(OCTOBER[-1], **tier(name))
        labels = {"tier": name}
        rollups.gauge(c.ACCOUNT_STORAGE_USED_BYTES, NOVEMBER, level, labels=labels, account="APP")
    rows = rows_of(report_of(rollups), "forecast_check")
    assert [(row["limit_name"], row["verdict"]) for row in rows] == [
        ("storage R1", "inside"), ("storage R3", "outside"),
    ]  # fmt: skip


def test_the_date_of_a_tier_moved_from_its_own_earlier_date() -> None:
    rollups = healthy()
    rollups.asof.clear()
    dates = {"outlook": "act", "not_before": None}
    for name, day in (("R1", 12), ("R3", 22)):
        rollups.forecast(OCTOBER[-1], **tier(name, likely=date(2027, 1, day), **dates))
    rollups.forecast(LAST, **tier("R1", likely=date(2027, 1, 2), **dates))
    first = plain(report_of(rollups).front.sentences[0])
    assert first.endswith("a month ago it was 12 Jan 2027, 10 days later.")
