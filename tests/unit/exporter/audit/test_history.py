"""History from rollups: real Parquet files with the schema of the rollups."""

import logging
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.rollups.delta_tables import ALL_HOURS, write_rollups

from exporter import catalog
from exporter.audit.history.reader import HistoryError, HistoryReader
from exporter.audit.history.rollup_history import RollupHistory, quantile
from exporter.metric import Metric
from spark_rollups.rollup.tables.schemas import QUANTILES
from streamgauge.rollup_format import ROLLUP_FORMAT

TODAY = date(2026, 11, 16)
NEWEST = TODAY - timedelta(days=1)
WORKER = ("APP", "ORDERS", "worker")
ORDERS = ("APP", "ORDERS")


def row(metric: Metric | str, day: date, **numbers: Any) -> dict[str, Any]:
    name = metric if isinstance(metric, str) else metric.name
    stream_context = name.startswith("streamgauge_stream_")
    moment = datetime.combine(day, datetime.min.time(), UTC)
    plain = {
        "metric": name,
        "kind": "gauge",
        "system": "nats",
        "account": "APP",
        "stream": "ORDERS",
        "consumer": "" if stream_context else "worker",
        "server": "",
        "labels": [],
        "day": day,
        "count": 5760,
        "hours": 24,
        "min": 0.0,
        "max": 0.0,
        "sum": 0.0,
        "first": 0.0,
        "last": 0.0,
        "first_hour": moment,
        "last_hour": moment,
        "increase": None,
        "resets": 0,
        "hour_bits": ALL_HOURS,
    }
    return {**plain, **numbers}


def write(folder: Path, daily: Iterable[dict[str, Any]], **more: Any) -> None:
    """Writes the tables of `streamgauge rollup`; each call is a new version."""
    tables = {"daily": list(daily), "quantiles": list(more.pop("quantiles", ()))}
    write_rollups(folder, tables, **more)


def reader(folder: Path, today: date = TODAY) -> HistoryReader:
    return HistoryReader(str(folder), "nats", lambda: today)


def read(folder: Path, daily: Iterable[dict[str, Any]], **more: Any) -> RollupHistory:
    write(folder, daily, **more)
    return reader(folder).read()


def ago(days: int) -> date:
    return NEWEST - timedelta(days=days)


def test_peaks_are_limited_to_their_window(tmp_path: Path) -> None:
    pending, lag = catalog.CONSUMER_NUM_ACK_PENDING, catalog.CONSUMER_LAG_SECONDS
    found = read(
        tmp_path,
        [
            row(pending, ago(0), max=5.0),
            row(pending, ago(6), max=90.0),
            row(pending, ago(7), max=1000.0),
            row(lag, ago(0), max=1.0),
            row(lag, ago(29), max=600.0),
            row(lag, ago(30), max=9999.0),
        ],
    )
    assert found.peak_ack_pending(WORKER) == 90.0
    assert found.worst_lag(WORKER) == 600.0
    assert found.worst_lag(("APP", "ORDERS", "unknown")) is None


def test_the_backlog_falls_back_to_undelivered_messages(tmp_path: Path) -> None:
    unsent = row(catalog.CONSUMER_NUM_PENDING, ago(3), max=10.0)
    whole = row(catalog.CONSUMER_BACKLOG_MESSAGES, ago(3), max=12.0)
    assert read(tmp_path, [unsent]).worst_backlog(WORKER) == 10.0
    assert read(tmp_path / "b", [unsent, whole]).worst_backlog(WORKER) == 12.0


def test_the_mean_time_to_ack_follows_from_how_many_waited(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            # 20 in flight on average, 10 deliveries per second: 2 seconds each.
            row(catalog.CONSUMER_NUM_ACK_PENDING, ago(0), sum=115_200.0, count=5760),
            row(catalog.CONSUMER_DELIVERIES, ago(0), increase=864_000.0),
            row(catalog.CONSUMER_REDELIVERIES, ago(0), increase=8_640.0),
        ],
    )
    assert found.mean_time_to_ack(WORKER) == pytest.approx(2.0)
    assert found.redelivery_ratio(WORKER) == pytest.approx(0.01)


def test_no_deliveries_give_no_ack_times(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            row(catalog.CONSUMER_NUM_ACK_PENDING, ago(0), sum=10.0),
            row(catalog.CONSUMER_DELIVERIES, ago(0), increase=0.0),
            row(catalog.CONSUMER_REDELIVERIES, ago(0), increase=0.0),
        ],
    )
    assert found.mean_time_to_ack(WORKER) is None
    assert found.redelivery_ratio(WORKER) is None


def test_the_p99_of_acks_comes_from_the_buckets_of_the_last_day(tmp_path: Path) -> None:
    name = catalog.CONSUMER_ACK_SECONDS.name + "_bucket"

    def bucket(day: date, bound: str, amount: float) -> dict[str, Any]:
        return row(name, day, labels=[("le", bound)], increase=amount)

    amounts = (("0.1", 900.0), ("1.0", 985.0), ("10.0", 995.0), ("+Inf", 1000.0))
    found = read(
        tmp_path,
        [
            *(bucket(ago(0), bound, amount) for bound, amount in amounts),
            bucket(ago(1), "0.1", 1e9),
        ],
    )
    assert found.p99_time_to_ack(WORKER) == 10.0


@pytest.mark.parametrize(
    ("buckets", "expected"),
    [
        ({}, None),
        ({0.1: 0.0, float("inf"): 0.0}, None),
        ({0.1: 5.0, float("inf"): 100.0}, None),
        ({0.1: 99.0, float("inf"): 100.0}, 0.1),
    ],
)
def test_a_quantile_is_a_bound_or_unknown(
    buckets: dict[float, float], expected: float | None
) -> None:
    assert quantile(0.99, buckets) == expected


def test_the_p95_is_the_highest_of_the_week(tmp_path: Path) -> None:
    def p95(day: date, value: float) -> dict[str, Any]:
        base = row(catalog.CONSUMER_NUM_ACK_PENDING, day)
        kept = {name: base[name] for name in QUANTILES.names if name in base}
        return {**kept, "p50": 0.0, "p95": value, "p99": 0.0}

    rows = [p95(ago(0), 7.0), p95(ago(5), 70.0), p95(ago(8), 700.0)]
    found = read(tmp_path, [row(catalog.CONSUMER_LAG_SECONDS, ago(0))], quantiles=rows)
    assert found.p95_ack_pending(WORKER) == 70.0


def test_streams_have_rates_duplicates_and_growth(tmp_path: Path) -> None:
    stored = [
        row(catalog.STREAM_STORED_MESSAGES, ago(day), increase=86_400.0 if day < 7 else 0.0)
        for day in range(29)
    ]
    found = read(
        tmp_path,
        [
            *stored,
            row(catalog.STREAM_DEDUPE_HITS, ago(2), increase=3.0),
            row(catalog.STREAM_CONSUMERS, ago(0), first=10.0, min=10.0, last=600.0, max=600.0),
            row(catalog.CONSUMER_RECREATED, ago(20), increase=2.0),
        ],
    )
    assert found.publish_rate(ORDERS) == pytest.approx(1.0)
    assert found.stored(ORDERS) == pytest.approx(7 * 86_400.0)
    assert found.duplicates(ORDERS) == 3.0
    assert found.consumer_growth(ORDERS) == 590.0
    assert found.recreated(WORKER) == 2.0


def test_a_decrease_is_no_growth_and_half_a_month_is_not_a_month(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            row(catalog.STREAM_CONSUMERS, ago(0), first=10.0, min=5.0, last=600.0, max=600.0),
            *(row(catalog.STREAM_STORED_MESSAGES, ago(day), increase=0.0) for day in range(15)),
        ],
    )
    assert found.consumer_growth(ORDERS) == 0.0
    assert found.stored(ORDERS) is None


def test_other_systems_and_the_current_day_do_not_count(tmp_path: Path) -> None:
    lag = catalog.CONSUMER_LAG_SECONDS
    found = read(
        tmp_path,
        [
            row(lag, ago(0), max=1.0),
            row(lag, ago(0), max=50.0, system="another"),
            row(lag, TODAY, max=99.0),
        ],
    )
    assert found.newest == NEWEST
    assert found.worst_lag(WORKER) == 1.0


def test_only_a_newer_version_is_read_again(tmp_path: Path) -> None:
    lag = catalog.CONSUMER_LAG_SECONDS
    write(tmp_path, [row(lag, ago(0), max=1.0)])
    history_reader = reader(tmp_path)
    first = history_reader.read()
    assert history_reader.read() is first
    write(tmp_path, [row(lag, ago(0), max=2.0)])
    assert history_reader.read().worst_lag(WORKER) == 2.0


def test_old_rollups_are_rejected(tmp_path: Path) -> None:
    write(tmp_path, [row(catalog.CONSUMER_LAG_SECONDS, ago(0))])
    with pytest.raises(HistoryError, match="the newest day is 2026-11-15"):
        reader(tmp_path, TODAY + timedelta(days=4)).read()


def test_an_unknown_format_is_rejected(tmp_path: Path) -> None:
    write(tmp_path, [row(catalog.CONSUMER_LAG_SECONDS, ago(0))], format=ROLLUP_FORMAT + 1)
    with pytest.raises(HistoryError, match=f"do not have format {ROLLUP_FORMAT}"):
        reader(tmp_path).read()


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    write(tmp_path, [row(catalog.CONSUMER_LAG_SECONDS, ago(0))])
    (path,) = tmp_path.glob("daily/*/*.parquet")
    path.write_bytes(b"no Parquet")
    with pytest.raises(HistoryError, match=f"day=2026-11-15/{path.name}"):
        reader(tmp_path).read()


def test_the_exporter_reads_beside_its_polls_and_logs_what_it_cannot_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="exporter.audit.history.reader")
    assert latest_after_refresh(reader(tmp_path / "nowhere")) is None
    assert caplog.messages == ["rollups cannot be read, checks that need them are not evaluated"]
    write(tmp_path, [row(catalog.CONSUMER_LAG_SECONDS, ago(0), max=3.0)])
    found = latest_after_refresh(reader(tmp_path))
    assert found is not None
    assert found.worst_lag(WORKER) == 3.0


def latest_after_refresh(history_reader: HistoryReader) -> RollupHistory | None:
    assert history_reader.latest() is None, "latest() must not wait"
    assert history_reader._refresh_thread is not None
    history_reader._refresh_thread.join()
    return history_reader.latest()
