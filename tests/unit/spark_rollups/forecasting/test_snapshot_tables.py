"""Forecasts and trends out of a folder of rollups: limits, discard policies, gaps, two systems."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, date, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from exporter import catalog
from exporter.metric import Metric
from spark_rollups.filesystem import Root
from spark_rollups.forecasting.forecast_batch import BY_DESIGN, FORECAST_INPUT, forecast_batch
from spark_rollups.forecasting.models.forecast import forecast
from spark_rollups.forecasting.snapshot.tables import capacity_tables, forecast_inputs, trend_inputs
from spark_rollups.forecasting.trend_batch import trend_batch
from spark_rollups.rollup.tables.manifest import Day, Manifest, RollupFile, write_manifest
from spark_rollups.rollup.tables.reader import Rollups, open_rollups
from spark_rollups.rollup.tables.schemas import DAILY, FORECASTS, HOURLY, SUBJECT_LABELS, TRENDS

AS_OF = date(2026, 11, 15)
DAYS = 50
GB = 1e9
LIMIT = 100 * GB
WEEK = 7
CONSUMER = {"system": "demo", "account": "APP", "stream": "S", "consumer": "C"}

# What a series is, at so many days before the end (0: the last day); None: it is not there.
Level = Callable[[float], float | None]
Series = tuple[Metric, dict[str, Any], Level]


def growing(at_end: float, a_day: float) -> Level:
    return lambda ago: at_end - a_day * ago


def always(value: float) -> Level:
    return lambda _: value


def stream(
    level: Level, *, limit: Level | None = None, discard: str = "new", **who: str
) -> list[Series]:
    subject = {"system": "demo", "account": "APP", "stream": "S", **who}
    labels = [("discard", discard), ("leader", "n1")]
    found = [(catalog.STREAM_BYTES, subject, level),
             (catalog.STREAM_INFO, {**subject, "labels": labels}, always(1.0))]  # fmt: skip
    return [*found, (catalog.STREAM_MAX_BYTES, subject, limit)] if limit else found


class MemoryRollups(Rollups):
    """Tables that stand in memory; test_a_folder_gives_the_same holds it to the real thing."""

    def __init__(self, series: Iterable[Series], missing: Iterable[int] = ()) -> None:
        """`missing` are days before the end."""
        made = list(series)
        self.present = [ago for ago in range(DAYS) if ago not in missing]
        self.made = {
            (name, day_before(ago)): rows(made, ago)
            for name, rows in (("hourly", _hours), ("daily", _days))
            for ago in self.present
        }

    def days(self) -> list[date]:
        return sorted(map(day_before, self.present))

    def table(
        self, name: str, first_day: date, last_day: date,
        columns: Sequence[str] | None = None, metrics: Collection[str] | None = None,
    ) -> Any:  # fmt: skip
        schema = {"hourly": HOURLY, "daily": DAILY}[name]
        parts = [
            pa.Table.from_pylist(self.made[name, day], schema=schema)
            for day in self.days()
            if first_day <= day <= last_day
        ]
        whole = pa.concat_tables([schema.empty_table(), *parts])
        wanted = whole.filter(pc.is_in(whole.column("metric"), pa.array(list(metrics or ()))))
        return wanted.select(columns or schema.names)


rollups = MemoryRollups


def day_before(ago: int) -> date:
    return AS_OF - timedelta(days=ago)


def midnight(ago: int) -> datetime:
    day = day_before(ago)
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _hours(series: list[Series], ago: int) -> list[dict[str, Any]]:
    return [
        _row(metric, who, value, hour=midnight(ago) + timedelta(hours=hour), p95=value)
        for metric, who, level in series
        for hour in range(24)
        if (value := level(ago + (23 - hour) / 24)) is not None
    ]


def _days(series: list[Series], ago: int) -> list[dict[str, Any]]:
    return [
        _row(metric, who, value, day=day_before(ago), hours=24, first_hour=midnight(ago),
             last_hour=midnight(ago) + timedelta(hours=23))
        for metric, who, level in series
        if (value := level(float(ago))) is not None
    ]  # fmt: skip


def folder_of(made: MemoryRollups, folder: Path) -> Rollups:
    """The same as the command leaves it."""
    days = {}
    for day in made.days():
        tables = {
            name: (_file(folder, f"{name}/day={day}/0.parquet", made.made[name, day], schema),)
            for name, schema in (("hourly", HOURLY), ("daily", DAILY))
        }
        days[day.isoformat()] = Day("", (1 << 24) - 1, 1, tables)
    write_manifest(Root(str(folder)), Manifest(number=1, written=1, days=days))
    return open_rollups(str(folder))


def _file(folder: Path, path: str, rows: list[dict[str, Any]], schema: Any) -> RollupFile:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), folder / path)
    return RollupFile(path, len(rows), 1)


def _row(metric: Metric, who: dict[str, Any], value: float, **more: Any) -> dict[str, Any]:
    """Two samples an hour or a day, the value and half of it before."""
    return {
        **dict.fromkeys(SUBJECT_LABELS, ""), "labels": [], "metric": metric.name, "kind": metric.kind.value,
        **who, "count": 2, "min": value / 2, "max": value, "sum": 1.5 * value, "first": value / 2,
        "last": value, "resets": 0, **more,
    }  # fmt: skip


def forecasts(found: Rollups, as_of: date = AS_OF) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = capacity_tables(found, as_of)[0].to_pylist()
    return rows


def the_forecast(found: Rollups) -> dict[str, Any]:
    (row,) = forecasts(found)
    return row


def days_from_now(day: date) -> int:
    return (day - AS_OF).days


def test_a_stream_that_grows_has_a_date_around_the_true_one() -> None:
    row = the_forecast(rollups(stream(growing(80 * GB, GB), limit=always(LIMIT))))
    assert row["outlook"] == "act"
    assert row["earliest"] <= row["likely"] <= row["latest"]
    assert days_from_now(row["likely"]) == pytest.approx(20, abs=2)
    assert (row["level"], row["limit"], row["days"]) == (80 * GB, LIMIT, DAYS)
    assert row["growth_per_day"] == pytest.approx(GB, rel=0.01)
    assert row["level_7d_q50"] == pytest.approx(87 * GB, rel=0.01)
    assert row["model"]
    assert row["error"] < 0.01
    assert (row["subject"], row["limit_name"], row["stream"]) == ("stream", "bytes", "S")


def test_a_folder_gives_the_same(tmp_path: Path) -> None:
    made = rollups([
        *stream(growing(80 * GB, GB), limit=always(LIMIT)),
        *stream(always(LIMIT), limit=always(LIMIT), discard="old", stream="T"),
        (catalog.CONSUMER_NUM_PENDING, CONSUMER, growing(1000, 10)),
    ])  # fmt: skip
    on_disk, in_memory = (
        capacity_tables(each, AS_OF) for each in (folder_of(made, tmp_path), made)
    )
    assert [table.num_rows for table in on_disk] == [2, 1]
    assert on_disk[0].equals(in_memory[0])
    assert on_disk[1].equals(in_memory[1])


def test_the_top_of_a_day_reaches_the_limit_before_its_end_does() -> None:
    series = stream(growing(80 * GB, GB), limit=always(LIMIT))
    flat, peaked = rollups(series), rollups(series)
    for row in (row for rows in peaked.made.values() for row in rows):
        row["max"] = row["last"] + 8 * GB
    sooner = the_forecast(flat)["likely"] - the_forecast(peaked)["likely"]
    assert sooner.days == pytest.approx(8, abs=1)


def test_two_days_without_any_rollup_change_little() -> None:
    series = stream(growing(80 * GB, GB), limit=always(LIMIT))
    row = the_forecast(rollups(series, missing=(9, 10)))
    assert days_from_now(row["likely"]) == pytest.approx(20, abs=2)
    assert row["days"] == DAYS - 2


def test_a_stream_that_drops_old_messages_is_full_by_design() -> None:
    full = stream(always(0.999 * LIMIT), limit=always(LIMIT), discard="old")
    row = the_forecast(rollups(full))
    assert row["outlook"] == BY_DESIGN
    assert "discards its oldest" in row["reason"]
    assert [row[name] for name in ("earliest", "likely", "latest", "not_before")] == [None] * 4
    assert row["level_30d_q50"] == pytest.approx(0.999 * LIMIT)


def test_a_young_stream_that_drops_old_messages_is_full_by_design_too() -> None:
    young: Level = lambda ago: LIMIT if ago < 3 else None  # noqa: E731
    row = the_forecast(rollups(stream(young, limit=always(LIMIT), discard="old")))
    assert (row["outlook"], row["model"]) == (BY_DESIGN, "")
    assert "discards its oldest" in row["reason"]
    gone: Level = lambda ago: LIMIT if ago > 9 else None  # noqa: E731
    row = the_forecast(rollups(stream(gone, limit=always(LIMIT), discard="old")))
    assert (row["outlook"], row["reason"]) == ("unknown", "the newest point is 9 days old")


def test_a_stream_that_drops_old_messages_and_does_not_grow_has_nothing_to_say() -> None:
    row = the_forecast(rollups(stream(always(GB), limit=always(LIMIT), discard="old")))
    assert (row["outlook"], row["reason"]) == ("not before", "")
    assert row["not_before"] == AS_OF + timedelta(days=91)


def test_a_stream_that_refuses_when_full_is_reached() -> None:
    row = the_forecast(rollups(stream(always(LIMIT), limit=always(LIMIT))))
    assert (row["outlook"], row["reason"]) == ("reached", "")
    assert [row[name] for name in ("earliest", "likely", "latest")] == [AS_OF] * 3


def test_a_stream_that_will_drop_old_messages_has_a_date_and_a_word_about_it() -> None:
    series = stream(growing(80 * GB, GB), limit=always(LIMIT), discard="old")
    row = the_forecast(rollups(series))
    assert row["outlook"] == "act"
    assert row["reason"] == "when full it discards its oldest messages (discard old)"


def test_without_a_limit_there_are_levels_and_no_date() -> None:
    row = the_forecast(rollups(stream(growing(80 * GB, GB))))
    assert (row["outlook"], row["reason"], row["limit"]) == ("unknown", "no limit", None)
    assert row["level_30d_q50"] == pytest.approx(110 * GB, rel=0.01)


def test_a_limit_that_was_raised_counts_as_it_is_now() -> None:
    raised: Level = lambda ago: LIMIT if ago < 5 else LIMIT / 2  # noqa: E731
    row = the_forecast(rollups(stream(growing(80 * GB, GB), limit=raised)))
    assert row["limit"] == LIMIT


def test_a_recreated_stream_is_taken_like_one_that_was_purged() -> None:
    """It begins at nothing 18 days ago, under the same name and with the same publishers."""
    again: Level = lambda ago: GB * (18 - ago) if ago < 18 else GB * (80 - ago)  # noqa: E731
    row = the_forecast(rollups(stream(again, limit=always(30 * GB))))
    assert row["outlook"] in ("act", "expected")
    assert days_from_now(row["likely"]) == pytest.approx(12, abs=3)


def test_two_systems_with_the_same_names_are_two() -> None:
    found = forecasts(rollups([
        *stream(growing(80 * GB, GB), limit=always(LIMIT)),
        *stream(always(10 * GB), limit=always(20 * GB), system="other"),
    ]))  # fmt: skip
    assert {(row["system"], row["outlook"], row["limit"]) for row in found} == {
        ("demo", "act", LIMIT),
        ("other", "not before", 20 * GB),
    }


def test_a_stream_that_is_gone_is_unknown_for_a_while_and_then_not_spoken_of() -> None:
    def until(ago: int) -> Level:
        return lambda at: GB if at >= ago else None

    (row,) = forecasts(rollups([
        *stream(until(10), limit=always(LIMIT)), *stream(until(35), stream="OLD"),
    ]))  # fmt: skip
    assert (row["stream"], row["outlook"]) == ("S", "unknown")
    assert row["reason"] == "the newest point is 10 days old"


def test_a_young_stream_is_unknown_with_the_number_of_days_needed() -> None:
    young: Level = lambda ago: GB if ago < 10 else None  # noqa: E731
    row = the_forecast(rollups(stream(young, limit=always(LIMIT))))
    assert (row["outlook"], row["model"]) == ("unknown", "")
    assert row["reason"] == "10 days with points, 24 are needed"
    assert row["level_7d_q50"] is None


def test_a_young_stream_that_is_full_is_reached() -> None:
    young: Level = lambda ago: LIMIT if ago < 3 else None  # noqa: E731
    row = the_forecast(rollups(stream(young, limit=always(LIMIT))))
    assert (row["outlook"], row["reason"], row["model"]) == ("reached", "", "")
    assert [row[name] for name in ("earliest", "likely", "latest")] == [AS_OF] * 3


def test_servers_and_accounts_have_their_limits() -> None:
    server = {"system": "demo", "server": "n1"}
    tiers = [{"system": "demo", "account": "APP", "labels": [("tier", f"R{n}")]} for n in (1, 3)]
    found = forecasts(rollups([
        (catalog.SERVER_STORAGE_USED_BYTES, server, growing(80 * GB, GB)),
        (catalog.SERVER_STORAGE_MAX_BYTES, server, always(LIMIT)),
        (catalog.SERVER_MEMORY_USED_BYTES, server, always(GB)),
        (catalog.SERVER_MEMORY_MAX_BYTES, server, always(4 * GB)),
        *((catalog.ACCOUNT_STORAGE_USED_BYTES, tier, growing(80 * GB, GB)) for tier in tiers),
        (catalog.ACCOUNT_STORAGE_LIMIT_BYTES, tiers[1], always(LIMIT)),
    ]))  # fmt: skip
    labels = {(row["subject"], row["limit_name"], row["outlook"]) for row in found}
    assert labels == {
        ("server", "storage", "act"),
        ("server", "memory", "not before"),
        ("account", "storage R1", "unknown"),
        ("account", "storage R3", "act"),
    }


def test_an_earlier_day_knows_nothing_of_what_came_after() -> None:
    bent: Level = lambda ago: 80 * GB - GB * max(ago, 10)  # noqa: E731
    found = rollups(stream(bent, limit=always(LIMIT)))
    (before,) = forecasts(found, AS_OF - timedelta(days=10))
    assert (before["as_of"], before["level"]) == (AS_OF - timedelta(days=10), 70 * GB)
    assert (before["likely"] - before["as_of"]).days == pytest.approx(30, abs=3)


def test_it_is_the_forecast_of_one_series_for_each() -> None:
    found = rollups(stream(growing(80 * GB, GB), limit=always(LIMIT)))
    (batch,) = forecast_inputs(found, AS_OF)
    (row,) = batch.to_pylist()
    assert len(row["times"]) == 24 * DAYS
    end = datetime(2026, 11, 16, tzinfo=UTC).timestamp()
    assert row["times"][-1] == end
    plain = forecast(np.array(row["times"]), np.array(row["levels"]), LIMIT)
    row = the_forecast(found)
    assert [level.median for level in plain.levels] == [row[f"level_{n}d_q50"] for n in (7, 30, 90)]
    assert plain.accuracy is not None
    assert row["linear_error"] == plain.accuracy.predict_linear_error


def test_a_batch_gives_the_same_whole_or_in_pieces() -> None:
    found = rollups([
        *stream(growing(80 * GB, GB), limit=always(LIMIT)),
        *stream(growing(50 * GB, GB / 2), limit=always(LIMIT), stream="T"),
    ])  # fmt: skip
    (batch,) = forecast_inputs(found, AS_OF)
    assert batch.schema.equals(FORECAST_INPUT)
    parts = [forecast_batch(batch.slice(index, 1), AS_OF) for index in range(2)]
    assert pa.concat_tables(parts).equals(forecast_batch(batch, AS_OF))
    workers = batch.to_batches()[0]
    assert forecast_batch(workers, AS_OF).equals(forecast_batch(batch, AS_OF))


@pytest.mark.slow
def test_other_processes_may_do_the_work() -> None:
    found = rollups([
        *stream(growing(80 * GB, GB), limit=always(LIMIT)),
        (catalog.CONSUMER_NUM_PENDING, CONSUMER, growing(1000, 10)),
    ])  # fmt: skip
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        elsewhere = capacity_tables(found, AS_OF, pool.map)
    here = capacity_tables(found, AS_OF)
    assert elsewhere[0].equals(here[0])
    assert elsewhere[1].equals(here[1])


def test_rollups_without_such_metrics_give_empty_tables() -> None:
    forecasted, trended = capacity_tables(rollups([]), AS_OF)
    assert (forecasted.num_rows, trended.num_rows) == (0, 0)
    assert forecasted.schema.equals(FORECASTS)
    assert trended.schema.equals(TRENDS)


def test_varying_metrics_use_the_mean_and_counts_the_last_value() -> None:
    found = rollups([
        (catalog.CONSUMER_NUM_PENDING, CONSUMER, growing(1000, 10)),
        (catalog.SERVER_HA_ASSETS, {"system": "demo", "server": "n1"}, growing(1000, 10)),
    ])  # fmt: skip
    rows = {row["metric"]: row for row in capacity_tables(found, AS_OF)[1].to_pylist()}
    pending, assets = (
        rows[metric.name] for metric in (catalog.CONSUMER_NUM_PENDING, catalog.SERVER_HA_ASSETS)
    )
    assert (pending["level"], assets["level"]) == (750, 1000)  # the mean of 1000 and 500 is 750
    assert pending["per_day"] == pytest.approx(7.5)
    assert assets["per_day"] == pytest.approx(10)
    assert {row["direction"] for row in rows.values()} == {"growing"}
    assert (pending["consumer"], pending["as_of"], pending["days"]) == ("C", AS_OF, 28)


def test_a_consumer_that_ended_a_week_ago_has_no_trend() -> None:
    ended: Level = lambda ago: 5.0 if ago >= WEEK else None  # noqa: E731
    found = rollups([(catalog.CONSUMER_NUM_PENDING, CONSUMER, ended)])
    assert capacity_tables(found, AS_OF)[1].num_rows == 0


def test_trends_keep_the_labels_that_distinguish_series() -> None:
    found = rollups([
        (catalog.ACCOUNT_STREAMS, {"system": "demo", "account": "A", "labels": [("tier", t)]},
         always(3.0))
        for t in ("R1", "R3")
    ])  # fmt: skip
    (batch,) = trend_inputs(found, AS_OF)
    rows = trend_batch(batch, AS_OF).to_pylist()
    assert [row["labels"] for row in rows] == [[("tier", "R1")], [("tier", "R3")]]
    assert {row["direction"] for row in rows} == {"steady"}
