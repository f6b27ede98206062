"""Forecasts and trends out of rollup tables: limits, discard policies, gaps, two systems.

All scenarios are computed in one run; each has systems of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from exporter import catalog
from exporter.metric import Metric
from spark_rollups.forecasting.forecast_group import BY_DESIGN, forecast_group
from spark_rollups.forecasting.models.forecast import forecast
from spark_rollups.forecasting.plans import forecasts as forecast_plan
from spark_rollups.forecasting.plans import trends as trend_plan
from spark_rollups.rollup.tables.schemas import DAILY, HOURLY_GAUGES, SUBJECT_LABELS
from spark_rollups.session import Session

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

AS_OF = date(2026, 11, 15)
DAYS = 50
GB = 1e9
LIMIT = 100 * GB
WEEK = 7
CONSUMER = {"system": "demo", "account": "APP", "stream": "S", "consumer": "C"}

# What a series is, at so many days before the end (0: the last day); None: it is not there.
Level = Callable[[float], float | None]


class Series(NamedTuple):
    metric: Metric
    subject: dict[str, Any]
    level: Level
    above: float = 0.0  # how far the maximum of an hour is above its last value


def growing(at_end: float, a_day: float) -> Level:
    return lambda ago: at_end - a_day * ago


def always(value: float) -> Level:
    return lambda _: value


def until(ago: int) -> Level:
    return lambda at: GB if at >= ago else None


def without(level: Level, *missing: int) -> Level:
    return lambda ago: None if int(ago) in missing else level(ago)


def stream(
    level: Level, *, limit: Level | None = None, discard: str = "new", above: float = 0.0,
    **who: str,
) -> list[Series]:  # fmt: skip
    subject = {"system": "demo", "account": "APP", "stream": "S", **who}
    labels = [("discard", discard), ("leader", "n1")]
    found = [Series(catalog.STREAM_BYTES, subject, level, above),
             Series(catalog.STREAM_INFO, {**subject, "labels": labels}, always(1.0))]  # fmt: skip
    return [*found, Series(catalog.STREAM_MAX_BYTES, subject, limit)] if limit else found


SERVER = {"system": "demo", "server": "n1"}
TIERS = [{"system": "demo", "account": "APP", "labels": [("tier", f"R{n}")]} for n in (1, 3)]
SCENARIOS: dict[str, list[Series]] = {
    "grows": stream(growing(80 * GB, GB), limit=always(LIMIT)),
    "peaks": stream(growing(80 * GB, GB), limit=always(LIMIT), above=8 * GB),
    "gap": stream(without(growing(80 * GB, GB), 9, 10), limit=without(always(LIMIT), 9, 10)),
    "drops": stream(always(0.999 * LIMIT), limit=always(LIMIT), discard="old"),
    "young drops": stream(
        lambda ago: LIMIT if ago < 3 else None, limit=always(LIMIT), discard="old"
    ),
    "gone drops": stream(
        lambda ago: LIMIT if ago > 9 else None, limit=always(LIMIT), discard="old"
    ),
    "small drops": stream(always(GB), limit=always(LIMIT), discard="old"),
    "refuses": stream(always(LIMIT), limit=always(LIMIT)),
    "will drop": stream(growing(80 * GB, GB), limit=always(LIMIT), discard="old"),
    "no limit": stream(growing(80 * GB, GB)),
    "raised": stream(growing(80 * GB, GB), limit=lambda ago: LIMIT if ago < 5 else LIMIT / 2),
    "recreated": stream(
        lambda ago: GB * (18 - ago) if ago < 18 else GB * (80 - ago), limit=always(30 * GB)
    ),
    "two": [
        *stream(growing(80 * GB, GB), limit=always(LIMIT)),
        *stream(always(10 * GB), limit=always(20 * GB), system="other"),
    ],
    "gone": [*stream(until(10), limit=always(LIMIT)), *stream(until(35), stream="OLD")],
    "young": stream(lambda ago: GB if ago < 10 else None, limit=always(LIMIT)),
    "young full": stream(lambda ago: LIMIT if ago < 3 else None, limit=always(LIMIT)),
    "servers": [
        Series(catalog.SERVER_STORAGE_USED_BYTES, SERVER, growing(80 * GB, GB)),
        Series(catalog.SERVER_STORAGE_MAX_BYTES, SERVER, always(LIMIT)),
        Series(catalog.SERVER_MEMORY_USED_BYTES, SERVER, always(GB)),
        Series(catalog.SERVER_MEMORY_MAX_BYTES, SERVER, always(4 * GB)),
        *(Series(catalog.ACCOUNT_STORAGE_USED_BYTES, tier, growing(80 * GB, GB)) for tier in TIERS),
        Series(catalog.ACCOUNT_STORAGE_LIMIT_BYTES, TIERS[1], always(LIMIT)),
    ],
    "bent": stream(lambda ago: 80 * GB - GB * max(ago, 10), limit=always(LIMIT)),
    "trends": [
        Series(catalog.CONSUMER_NUM_PENDING, CONSUMER, growing(1000, 10)),
        Series(catalog.SERVER_HA_ASSETS, SERVER, growing(1000, 10)),
    ],
    "ended": [
        Series(catalog.CONSUMER_NUM_PENDING, CONSUMER, lambda ago: 5.0 if ago >= WEEK else None)
    ],
    "tiers": [Series(catalog.ACCOUNT_STREAMS, tier, always(3.0)) for tier in TIERS],
}


class Found(NamedTuple):
    forecasts: list[dict[str, Any]]
    before: list[dict[str, Any]]  # forecasts as of ten days before
    trends: list[dict[str, Any]]


@pytest.fixture(scope="module")
def found(session: Session) -> Found:
    hourly, daily = (
        session.spark.createDataFrame(pa.Table.from_pylist(list(rows), schema=schema))
        for rows, schema in ((_hours(), HOURLY_GAUGES), (_days(), DAILY))
    )
    earlier = AS_OF - timedelta(days=10)
    plans = (
        forecast_plan(hourly, daily, AS_OF),
        forecast_plan(hourly.where("system like 'bent%'"), daily, earlier),
        trend_plan(daily, AS_OF),
    )
    return Found(*(plan.toArrow().to_pylist() for plan in plans))


def _rows() -> Iterable[tuple[Series, dict[str, Any], int]]:
    for name, scenario in SCENARIOS.items():
        for series in scenario:
            subject = {**series.subject, "system": f"{name} {series.subject['system']}"}
            for ago in range(DAYS):
                yield series, subject, ago


def _hours() -> Iterable[dict[str, Any]]:
    for series, who, ago in _rows():
        for hour in range(24):
            value = series.level(ago + (23 - hour) / 24)
            if value is not None:
                at = midnight(ago) + timedelta(hours=hour)
                yield _row(series, who, value, day=day_before(ago), hour=at, p95=value)


def _days() -> Iterable[dict[str, Any]]:
    for series, who, ago in _rows():
        value = series.level(float(ago))
        if value is not None:
            yield _row(series, who, value, day=day_before(ago), hours=24, first_hour=midnight(ago),
                       last_hour=midnight(ago) + timedelta(hours=23), hour_bits=0)  # fmt: skip


def _row(series: Series, who: dict[str, Any], value: float, **more: Any) -> dict[str, Any]:
    """Two samples an hour or a day, the value and half of it before."""
    return {
        **dict.fromkeys(SUBJECT_LABELS, ""), "labels": [], "metric": series.metric.name,
        "kind": series.metric.kind.value, **who, "count": 2, "min": value / 2,
        "max": value + series.above, "sum": 1.5 * value, "first": value / 2, "last": value,
        "resets": 0, **more,
    }  # fmt: skip


def day_before(ago: int) -> date:
    return AS_OF - timedelta(days=ago)


def midnight(ago: int) -> datetime:
    day = day_before(ago)
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def of(rows: list[dict[str, Any]], scenario: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["system"].rpartition(" ")[0] == scenario]


def the(rows: list[dict[str, Any]], scenario: str) -> dict[str, Any]:
    (row,) = of(rows, scenario)
    return row


def days_from_now(day: date) -> int:
    return (day - AS_OF).days


def test_a_stream_that_grows_has_a_date_around_the_true_one(found: Found) -> None:
    row = the(found.forecasts, "grows")
    assert row["outlook"] == "act"
    assert row["earliest"] <= row["likely"] <= row["latest"]
    assert days_from_now(row["likely"]) == pytest.approx(20, abs=2)
    assert (row["level"], row["limit"], row["days"]) == (80 * GB, LIMIT, DAYS)
    assert row["growth_per_day"] == pytest.approx(GB, rel=0.01)
    assert row["level_7d_q50"] == pytest.approx(87 * GB, rel=0.01)
    assert row["model"]
    assert row["error"] < 0.01
    assert (row["subject"], row["limit_name"], row["stream"]) == ("stream", "bytes", "S")


def test_the_top_of_a_day_reaches_the_limit_before_its_end_does(found: Found) -> None:
    flat, peaked = the(found.forecasts, "grows"), the(found.forecasts, "peaks")
    assert (flat["likely"] - peaked["likely"]).days == pytest.approx(8, abs=1)


def test_two_days_without_any_rollup_change_little(found: Found) -> None:
    row = the(found.forecasts, "gap")
    assert days_from_now(row["likely"]) == pytest.approx(20, abs=2)
    assert row["days"] == DAYS - 2


def test_a_stream_that_drops_old_messages_is_full_by_design(found: Found) -> None:
    row = the(found.forecasts, "drops")
    assert row["outlook"] == BY_DESIGN
    assert "discards its oldest" in row["reason"]
    assert [row[name] for name in ("earliest", "likely", "latest", "not_before")] == [None] * 4
    assert row["level_30d_q50"] == pytest.approx(0.999 * LIMIT)


def test_a_young_stream_that_drops_old_messages_is_full_by_design_too(found: Found) -> None:
    row = the(found.forecasts, "young drops")
    assert (row["outlook"], row["model"]) == (BY_DESIGN, "")
    assert "discards its oldest" in row["reason"]
    row = the(found.forecasts, "gone drops")
    assert (row["outlook"], row["reason"]) == ("unknown", "the newest point is 9 days old")


def test_a_stream_that_drops_old_messages_and_does_not_grow_has_nothing_to_say(
    found: Found,
) -> None:
    row = the(found.forecasts, "small drops")
    assert (row["outlook"], row["reason"]) == ("not before", "")
    assert row["not_before"] == AS_OF + timedelta(days=91)


def test_a_stream_that_refuses_when_full_is_reached(found: Found) -> None:
    row = the(found.forecasts, "refuses")
    assert (row["outlook"], row["reason"]) == ("reached", "")
    assert [row[name] for name in ("earliest", "likely", "latest")] == [AS_OF] * 3


def test_a_stream_that_will_drop_old_messages_has_a_date_and_a_word_about_it(found: Found) -> None:
    row = the(found.forecasts, "will drop")
    assert row["outlook"] == "act"
    assert row["reason"] == "when full it discards its oldest messages (discard old)"


def test_without_a_limit_there_are_levels_and_no_date(found: Found) -> None:
    row = the(found.forecasts, "no limit")
    assert (row["outlook"], row["reason"], row["limit"]) == ("unknown", "no limit", None)
    assert row["level_30d_q50"] == pytest.approx(110 * GB, rel=0.01)


def test_a_limit_that_was_raised_counts_as_it_is_now(found: Found) -> None:
    assert the(found.forecasts, "raised")["limit"] == LIMIT


def test_a_recreated_stream_is_taken_like_one_that_was_purged(found: Found) -> None:
    """It begins at nothing 18 days ago, under the same name and with the same publishers."""
    row = the(found.forecasts, "recreated")
    assert row["outlook"] in ("act", "expected")
    assert days_from_now(row["likely"]) == pytest.approx(12, abs=3)


def test_two_systems_with_the_same_names_are_two(found: Found) -> None:
    rows = of(found.forecasts, "two")
    assert {(row["system"], row["outlook"], row["limit"]) for row in rows} == {
        ("two demo", "act", LIMIT),
        ("two other", "not before", 20 * GB),
    }


def test_a_stream_that_is_gone_is_unknown_for_a_while_and_then_not_spoken_of(found: Found) -> None:
    row = the(found.forecasts, "gone")
    assert (row["stream"], row["outlook"]) == ("S", "unknown")
    assert row["reason"] == "the newest point is 10 days old"


def test_a_young_stream_is_unknown_with_the_number_of_days_needed(found: Found) -> None:
    row = the(found.forecasts, "young")
    assert (row["outlook"], row["model"]) == ("unknown", "")
    assert row["reason"] == "10 days with points, 24 are needed"
    assert row["level_7d_q50"] is None


def test_a_young_stream_that_is_full_is_reached(found: Found) -> None:
    row = the(found.forecasts, "young full")
    assert (row["outlook"], row["reason"], row["model"]) == ("reached", "", "")
    assert [row[name] for name in ("earliest", "likely", "latest")] == [AS_OF] * 3


def test_servers_and_accounts_have_their_limits(found: Found) -> None:
    rows = of(found.forecasts, "servers")
    assert {(row["subject"], row["limit_name"], row["outlook"]) for row in rows} == {
        ("server", "storage", "act"),
        ("server", "memory", "not before"),
        ("account", "storage R1", "unknown"),
        ("account", "storage R3", "act"),
    }


def test_an_earlier_day_knows_nothing_of_what_came_after(found: Found) -> None:
    before = the(found.before, "bent")
    assert (before["as_of"], before["level"]) == (AS_OF - timedelta(days=10), 70 * GB)
    assert (before["likely"] - before["as_of"]).days == pytest.approx(30, abs=3)


def test_it_is_the_forecast_of_one_series_for_each(found: Found) -> None:
    """Each hour counts with its last sample, at its end."""
    times = [midnight(0).timestamp() + 86_400 - 3600 * ago for ago in range(24 * DAYS)][::-1]
    levels = [80 * GB - GB * ago / 24 for ago in range(24 * DAYS)][::-1]
    plain = forecast(np.array(times), np.array(levels), LIMIT)
    row = the(found.forecasts, "grows")
    for level, days in zip(plain.levels, (7, 30, 90), strict=True):
        assert level.median == pytest.approx(row[f"level_{days}d_q50"], rel=1e-9)
    assert plain.accuracy is not None
    assert row["linear_error"] == pytest.approx(plain.accuracy.predict_linear_error, rel=1e-6)


def test_points_of_a_group_may_come_in_any_order() -> None:
    times = np.arange(48.0) * 3600 + midnight(1).timestamp() + 3600
    columns = {
        "metric": [catalog.STREAM_BYTES.name] * 48, "system": ["s"] * 48, "account": ["a"] * 48,
        "stream": ["S"] * 48, "server": [""] * 48, "pairs": [[]] * 48, "time": times,
        "level": np.arange(48.0), "high": np.arange(48.0), "limit": [100.0] * 48,
        "limit_until": [times[-1]] * 48, "discards_old": [None] * 48,
    }  # fmt: skip
    table = pa.table(columns)
    mixed = table.take(pa.array(np.random.default_rng(1).permutation(48)))
    (row,) = forecast_group(table, AS_OF, 0.0).to_pylist()
    assert row["level"] == 47.0
    assert forecast_group(mixed, AS_OF, 0.0).to_pylist() == [row]
    assert forecast_group(table, AS_OF, times[-1]).num_rows == 0, "it counts as deleted"


def test_varying_metrics_use_the_mean_and_counts_the_last_value(found: Found) -> None:
    rows = {row["metric"]: row for row in of(found.trends, "trends")}
    pending, assets = (
        rows[metric.name] for metric in (catalog.CONSUMER_NUM_PENDING, catalog.SERVER_HA_ASSETS)
    )
    assert (pending["level"], assets["level"]) == (750, 1000)  # the mean of 1000 and 500 is 750
    assert pending["per_day"] == pytest.approx(7.5)
    assert assets["per_day"] == pytest.approx(10)
    assert {row["direction"] for row in rows.values()} == {"growing"}
    assert (pending["consumer"], pending["as_of"], pending["days"]) == ("C", AS_OF, 28)


def test_a_consumer_that_ended_a_week_ago_has_no_trend(found: Found) -> None:
    assert of(found.trends, "ended") == []


def test_trends_keep_the_labels_that_distinguish_series(found: Found) -> None:
    rows = of(found.trends, "tiers")
    assert sorted(row["labels"] for row in rows) == [[("tier", "R1")], [("tier", "R3")]]
    assert {row["direction"] for row in rows} == {"steady"}
