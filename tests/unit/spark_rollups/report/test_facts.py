"""What the report reads of the rollups: the right number of the month, and unknown where it has none."""

import math
from datetime import date
from typing import Any

import numpy as np
import pytest
from support.rollups.literal_rollups import LiteralRollups, month_days
from support.rollups.report_month import (
    BOTH,
    CONSUMER,
    GIB,
    MONTH,
    NOVEMBER,
    OCTOBER,
    SERVER,
    STREAM,
    healthy,
)  # fmt: skip

from alerts import thresholds
from exporter import catalog as c
from spark_rollups.report.facts.assets import Assets
from spark_rollups.report.facts.columns import KINDS, increase_by
from spark_rollups.report.facts.monthly_facts import Facts, read_facts
from spark_rollups.report.facts.reading import APPEARING, Kind, read_months
from spark_rollups.report.month import Month, ReportError


def streams(rollups: LiteralRollups, *metrics: c.Metric) -> tuple[Assets, Assets]:
    return months(rollups, Kind(KINDS["streams"].labels, metrics), OCTOBER)


def months(rollups: LiteralRollups, kind: Kind, before: list[date]) -> tuple[Assets, Assets]:
    return read_months(rollups, {"kind": kind}, NOVEMBER, before)["kind"]


def facts_of(rollups: LiteralRollups) -> Facts:
    return read_facts(rollups, MONTH, thresholds.BY_NAME)


def test_first_and_last_go_by_the_days_across_weeks() -> None:
    rollups = LiteralRollups()
    rollups.gauge(c.STREAM_BYTES, BOTH, lambda day: day, high=lambda day: 2 * day, **STREAM)
    now, before = streams(rollups, c.STREAM_BYTES)
    numbers = [each(c.STREAM_BYTES)[0] for each in (now.first, now.last, now.lowest, now.highest)]
    assert numbers == [31, 60, 31, 120]
    assert (now.days_with_data(c.STREAM_BYTES)[0], now.mean(c.STREAM_BYTES)[0]) == (
        30,
        45.5,
    )
    assert before.last(c.STREAM_BYTES)[0] == 30


def test_increases_add_up_and_unknown_ones_stay_unknown() -> None:
    rollups = LiteralRollups()
    rollups.counter(c.STREAM_STORED_MESSAGES, NOVEMBER, 5, **STREAM)
    rollups.gauge(c.STREAM_BYTES, NOVEMBER, 1, **STREAM)
    now, before = streams(rollups, c.STREAM_STORED_MESSAGES, c.STREAM_BYTES)
    assert now.increase(c.STREAM_STORED_MESSAGES).tolist() == [150]
    assert math.isnan(now.increase(c.STREAM_BYTES)[0])
    assert math.isnan(now.last(c.STREAM_MESSAGES)[0])
    assert math.isnan(before.increase(c.STREAM_STORED_MESSAGES)[0])
    assert (now.seen.tolist(), before.seen.tolist()) == ([True], [False])


def test_both_months_stand_in_one_order() -> None:
    rollups = LiteralRollups()
    rollups.gauge(c.STREAM_BYTES, OCTOBER, 1, account="A", stream="gone")
    rollups.gauge(c.STREAM_BYTES, NOVEMBER, 2, account="A", stream="new")
    rollups.gauge(c.STREAM_BYTES, BOTH, 3, account="A", stream="kept")
    now, before = streams(rollups, c.STREAM_BYTES)
    assert [name[-1] for name in now.names] == ["gone", "kept", "new"]
    assert now.names == before.names
    assert now.seen.tolist() == [False, True, True]
    np.testing.assert_array_equal(before.last(c.STREAM_BYTES), [1, 3, np.nan])


def test_names_that_would_run_together_are_kept_apart() -> None:
    rollups = LiteralRollups()
    rollups.gauge(c.STREAM_BYTES, NOVEMBER, 1, account="a", stream="bc")
    rollups.gauge(c.STREAM_BYTES, NOVEMBER, 2, account="ab", stream="c")
    now, _ = streams(rollups, c.STREAM_BYTES)
    assert now.last(c.STREAM_BYTES).tolist() == [1, 2]


def test_a_label_of_the_map_can_distinguish_assets() -> None:
    rollups = LiteralRollups()
    metric = c.ACCOUNT_STORAGE_USED_BYTES
    for tier, used in (("R1", 1), ("R3", 3)):
        rollups.gauge(metric, NOVEMBER, used, labels={"tier": tier}, account="A")
    now, _ = months(
        rollups, Kind(KINDS["accounts"].labels, [metric], ("tier",), [(metric, "last")]), []
    )
    assert now.names == [("prod", "A", "R1"), ("prod", "A", "R3")]
    assert now.daily(metric, "last").tolist() == [[1.0] * 30, [3.0] * 30]


def test_a_rollup_without_a_single_row_has_no_assets() -> None:
    now, before = streams(LiteralRollups(), c.STREAM_BYTES)
    assert (len(now), len(before)) == (0, 0)
    assert now.last(c.STREAM_BYTES).tolist() == []


def test_a_day_without_a_value_is_unknown_in_the_days_of_an_asset() -> None:
    rollups = LiteralRollups()
    rollups.gauge(c.STREAM_BYTES, NOVEMBER[1:], lambda day: day, **STREAM)
    rollups.gauge(c.STREAM_BYTES, NOVEMBER, 7, account="A", stream="whole")
    kind = Kind(KINDS["streams"].labels, [c.STREAM_BYTES], daily=[(c.STREAM_BYTES, "last")])
    now, _ = months(rollups, kind, [])
    np.testing.assert_array_equal(
        now.daily(c.STREAM_BYTES, "last"), [[7.0] * 30, [np.nan, *range(29)]]
    )


@pytest.mark.parametrize("kind", ["consumers", "streams", "servers", "accounts", "systems"])
def test_every_column_has_a_value_for_each_asset_and_is_computed_once(kind: str) -> None:
    rollups = healthy()
    rollups.gauge(c.ACCOUNT_STORAGE_USED_BYTES, BOTH, GIB, labels={"tier": ""}, account="APP")
    pair = facts_of(rollups).pair(kind)
    assert len(pair.now) == 1
    for name in pair.now.columns:
        if name not in ("states", "conditions"):
            assert len(pair[name]) == 1, name
        assert pair[name] is pair.now[name], name


def test_every_day_is_read_once() -> None:
    read: list[tuple[str, date, bool]] = []

    class Counted(LiteralRollups):
        def table(
            self, name: str, first_day: date, last_day: date, columns: Any = None, *rest: Any,
            **named: Any,
        ) -> Any:  # fmt: skip
            assert first_day == last_day
            read.append((name, first_day, "labels" in columns))
            return super().table(name, first_day, last_day, columns, *rest, **named)

    rollups = Counted()
    rollups.gauge(c.UP, BOTH, 1)
    kinds = {"streams": Kind(KINDS["streams"].labels, [c.STREAM_BYTES]),
             "codes": Kind(KINDS["streams"].labels, [c.STREAM_PUBLISH_REJECTIONS], ("code",))}  # fmt: skip
    read_months(rollups, kinds, NOVEMBER, OCTOBER)
    assert sorted(read) == sorted(
        ("daily", day, labels) for day in BOTH for labels in (False, True)
    )


# --- counters that appear with their first event --------------------------------------------------


def restored(rollups: LiteralRollups) -> float:
    now, _ = streams(rollups, c.STREAM_RESTORES, c.STREAM_UP)
    return float(now.increase(c.STREAM_RESTORES)[0])


def appearing(days: list[date], first: float) -> LiteralRollups:
    """A series that begins at a value: as Prometheus saw it, nothing increased."""
    rollups = LiteralRollups()
    rollups.gauge(c.UP, BOTH, 1)
    rollups.gauge(c.STREAM_UP, BOTH, 1, **STREAM)
    rollups.counter(c.STREAM_RESTORES, days, 0, **STREAM)
    for row in rollups.rows["daily"]:
        if row["metric"] == c.STREAM_RESTORES.name:
            row["first"] = row["last"] = first
    return rollups


def test_the_first_event_of_a_series_counts() -> None:
    assert restored(appearing(NOVEMBER[10:], 2)) == 2


def test_the_first_event_on_the_first_day_of_the_month_counts() -> None:
    assert restored(appearing(NOVEMBER, 1)) == 1


def test_a_series_that_was_there_before_the_month_adds_nothing() -> None:
    assert restored(appearing(BOTH[5:], 1)) == 0


def test_what_was_there_when_the_data_began_is_not_new() -> None:
    rollups = appearing(NOVEMBER, 7)
    rollups.covered = {day: hours for day, hours in rollups.covered.items() if day in NOVEMBER}
    rollups.rows["daily"] = [row for row in rollups.rows["daily"] if row["day"] in NOVEMBER]
    assert restored(rollups) == 0


def test_a_gap_in_the_data_makes_no_series_new() -> None:
    rollups = appearing([*OCTOBER, *NOVEMBER[:5], *NOVEMBER[8:]], 1)
    for day in NOVEMBER[5:8]:
        del rollups.covered[day]
    assert restored(rollups) == 0


@pytest.mark.parametrize("gone", [1, 5])
@pytest.mark.parametrize(("returns", "added"), [(7, 0), (9, 2), (3, 0)])
def test_a_counter_that_returns_adds_only_what_it_grew_by(
    gone: int, returns: float, added: float
) -> None:
    rollups = appearing([*OCTOBER, *NOVEMBER[:5], *NOVEMBER[5 + gone :]], 7)
    for row in rollups.rows["daily"]:
        if row["metric"] == c.STREAM_RESTORES.name and row["day"] >= NOVEMBER[5 + gone]:
            row["first"] = row["last"] = returns
    assert restored(rollups) == added


def test_a_series_is_not_new_when_its_own_system_was_not_watched_the_day_before() -> None:
    rollups = appearing(NOVEMBER[10:], 2)
    rollups.gauge(c.UP, BOTH, 1, system="other")
    rollups.rows["daily"] = [
        row
        for row in rollups.rows["daily"]
        if (row["metric"], row["system"], row["day"]) != (c.UP.name, "prod", NOVEMBER[9])
    ]
    assert restored(rollups) == 0


def test_each_code_of_rejections_appears_by_itself() -> None:
    rollups = appearing([], 0)
    for code, days in (("10071", NOVEMBER[3:]), ("10077", NOVEMBER[9:])):
        rollups.counter(c.STREAM_PUBLISH_REJECTIONS, days, 0, labels={"code": code}, **STREAM)
    for row in rollups.rows["daily"]:
        if row["metric"] == c.STREAM_PUBLISH_REJECTIONS.name:
            row["first"] = row["last"] = 4.0
    now, _ = streams(rollups, c.STREAM_UP)
    by_code, _ = months(rollups, KINDS["rejections"], OCTOBER)
    assert increase_by(by_code, now).tolist() == [8]


def test_only_counters_of_events_appear() -> None:
    assert c.STREAM_RESTORES.name in APPEARING
    assert c.CONSUMER_EXHAUSTED.name in APPEARING
    assert c.STREAM_RECREATED.name in APPEARING
    assert c.CONSUMER_DELIVERIES.name not in APPEARING


# --- facts ----------------------------------------------------------------------------------------


def test_a_month_without_data_is_an_error_that_names_the_available_days() -> None:
    rollups = LiteralRollups()
    rollups.cover(month_days(2026, 9))
    with pytest.raises(ReportError) as caught:
        read_facts(rollups, MONTH, thresholds.BY_NAME)
    assert str(caught.value) == (
        "month 2026-11: the rollups have no data of this month; they have 2026-09-01 to 2026-09-30"
    )


def test_a_day_without_an_hour_is_a_missing_day() -> None:
    rollups = LiteralRollups()
    rollups.gauge(c.STREAM_UP, NOVEMBER[:10], 1, **STREAM)
    rollups.cover([NOVEMBER[4]], hours=0)
    facts = facts_of(rollups)
    assert facts.missing == (NOVEMBER[4],)
    assert (facts.as_of, facts.is_whole) == (NOVEMBER[9], False)


def test_the_newest_forecast_of_the_month_counts_and_the_one_before() -> None:
    rollups = LiteralRollups()
    rollups.gauge(c.STREAM_UP, BOTH, 1, **STREAM)
    for day in (date(2026, 10, 31), date(2026, 11, 15), date(2026, 11, 30), date(2026, 12, 3)):
        rollups.forecast(day, stream="S", level=1.0, limit=float(day.day))
    facts = facts_of(rollups)
    assert (facts.forecasts_as_of, facts.forecasts[0].limit) == (date(2026, 11, 30), 30)
    assert facts.forecasts_before[0].limit == 31
    october = read_facts(rollups, Month(2026, 10), thresholds.BY_NAME)
    assert october.forecasts_before == ()


def test_a_forecast_of_an_earlier_month_is_none_of_this_one() -> None:
    rollups = LiteralRollups()
    rollups.gauge(c.STREAM_UP, BOTH, 1, **STREAM)
    rollups.forecast(date(2026, 10, 31), stream="S", level=1.0, limit=2.0)
    assert (facts_of(rollups).forecasts_as_of, facts_of(rollups).forecasts) == (None, ())


def test_a_level_without_a_limit_reaches_nothing() -> None:
    rollups = LiteralRollups()
    rollups.gauge(c.STREAM_UP, BOTH, 1, **STREAM)
    rollups.forecast(date(2026, 11, 30), stream="S", outlook="unknown", reason="no limit")
    assert facts_of(rollups).forecasts == ()


def test_labels_of_an_info_series_are_the_newest() -> None:
    rollups = LiteralRollups()
    rollups.gauge(c.STREAM_INFO, NOVEMBER[:20], 1, labels={"discard": "old"}, **STREAM)
    rollups.gauge(c.STREAM_INFO, NOVEMBER[20:], 1, labels={"discard": "new"}, **STREAM)
    assert facts_of(rollups).stream_info == {("prod", "APP", "ORDERS"): {"discard": "new"}}


def test_restarts_are_start_times_that_moved_and_wandering_ones_are_none() -> None:
    rollups = LiteralRollups()
    starts = {**dict.fromkeys(BOTH, 1000.0), **dict.fromkeys(NOVEMBER[12:], 5000.0)}
    for number, day in enumerate(BOTH):
        rollups.gauge(c.SERVER_START_TIMESTAMP_SECONDS, [day], starts[day] + number % 3, **SERVER)
    assert facts_of(rollups).servers["restart_days"] == [[NOVEMBER[12]]]


def test_a_restart_between_two_months_belongs_to_the_later() -> None:
    rollups = LiteralRollups()
    rollups.gauge(c.SERVER_START_TIMESTAMP_SECONDS, OCTOBER, 1000, **SERVER)
    rollups.gauge(c.SERVER_START_TIMESTAMP_SECONDS, NOVEMBER, 9000, **SERVER)
    assert facts_of(rollups).servers["restart_days"] == [[NOVEMBER[0]]]


def test_the_labels_of_consumers_are_four() -> None:
    rollups = LiteralRollups()
    rollups.gauge(c.CONSUMER_UP, NOVEMBER, 1, **CONSUMER)
    now, _ = months(rollups, Kind(KINDS["consumers"].labels, [c.CONSUMER_UP]), [])
    assert now.names == [("prod", "APP", "ORDERS", "billing")]
