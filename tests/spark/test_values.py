"""The values of the tables: literal ones, and those of a plain-Python oracle on unruly samples."""

import math
from datetime import UTC, date, datetime
from pathlib import Path

import polars
import pytest
from deltalake import DeltaTable
from support.archive.folder import STALE
from support.nats.servers import long_run
from support.rollups.archive import (
    DAY,
    HOUR,
    MINUTE,
    MONDAY,
    RollupArchive,
    Sample,
    labels,
    rows_of,
)
from support.rollups.generated_samples import generated_days
from support.rollups.runs import EVER, run, wrong

from spark_rollups import metric_selection
from spark_rollups.jobs import day_tables
from spark_rollups.rollup.tables.reader import open_rollups
from spark_rollups.session import Session

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

# The nights in which clocks are put back and forward in Europe, and ends of months and of a year.
STARTS = (
    datetime(2026, 3, 28, tzinfo=UTC),
    datetime(2026, 10, 24, tzinfo=UTC),
    datetime(2026, 12, 30, tzinfo=UTC),
    datetime(2028, 2, 28, tzinfo=UTC),
)
# More than a run keeps: counters, decimals and shared series too.
HOURLY = (
    *metric_selection.HOURLY, "streamgauge_consumer_lag_seconds", "streamgauge_consumer_num_pending",
    "streamgauge_consumer_deliveries_total", "streamgauge_server_cpu_ratio",
)  # fmt: skip
SEEDS = range(8) if long_run() else range(1)
END = round(STARTS[-1].timestamp() * 1000) + 10 * DAY


def nights(seed: int) -> list[Sample]:
    """Three days at each start, in one archive."""
    starts = [round(start.timestamp() * 1000) for start in STARTS]
    return [each for start in starts for each in generated_days(seed, start, 3)]


@pytest.fixture(scope="module", params=SEEDS)
def generated(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[Sample]]:
    path, samples = tmp_path_factory.mktemp("generated") / "archive", nights(request.param)
    RollupArchive(path).add(samples, now=END)
    return path, samples


@pytest.fixture(scope="module", params=[False, True], ids=["statistics", "samples"])
def rolled(
    request: pytest.FixtureRequest,
    session: Session,
    generated: tuple[Path, list[Sample]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    out = tmp_path_factory.mktemp("rolled") / "out"
    run(session, generated[0], out, from_raw=request.param, forecasts=False, hourly=HOURLY)
    return out


def test_tables_from_statistics_and_from_samples_equal_the_oracle(
    rolled: Path, generated: tuple[Path, list[Sample]]
) -> None:
    assert wrong(rolled, generated[1], HOURLY) == []


def test_many_series_are_joined_by_a_shuffle_and_give_the_same_values(
    session: Session,
    generated: tuple[Path, list[Sample]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Their labels would be too large for a broadcast."""
    monkeypatch.setattr(day_tables, "_BROADCAST_SERIES", 0)
    threshold = "spark.sql.autoBroadcastJoinThreshold"
    before = session.spark.conf.get(threshold)
    session.spark.conf.set(threshold, "-1")
    try:
        run(session, generated[0], tmp_path, forecasts=False, hourly=HOURLY)
    finally:
        session.spark.conf.set(threshold, before)
    assert wrong(tmp_path, generated[1], HOURLY) == []


def test_engines_that_read_delta_tables_see_the_same_rows_and_sums(
    session: Session, rolled: Path, generated: tuple[Path, list[Sample]]
) -> None:
    """Of the rollups and of the archive, in Spark, Polars, DuckDB and our own reader."""
    import duckdb
    from pyspark.sql import functions as F  # noqa: N812

    ours = open_rollups(str(rolled))
    for path, column in (
        (rolled / "daily", "count"),
        (rolled / "hourly_gauges", "count"),
        (rolled / "states", "samples"),
        (rolled / "quantiles", "count"),
        (generated[0] / "hourly", "count"),
        (generated[0] / "samples", "series"),
        (generated[0] / "series", "series"),
    ):
        frame = session.spark.read.format("delta").load(str(path))
        spark = tuple(frame.agg(F.count("*"), F.sum(column)).first())
        whole = DeltaTable(path).to_pyarrow_dataset()
        duck = duckdb.sql(f'SELECT count(*), sum("{column}") FROM whole').fetchall()[0]  # noqa: S608
        read = polars.scan_delta(str(path)).select(column).collect()
        assert spark == duck == (len(read), read[column].sum())
        assert whole.count_rows() == len(read) > 0
        if path.parent == rolled:
            assert ours.table(path.name, *EVER).num_rows == len(read)


def test_spark_reads_the_rollups_in_the_schema_that_is_promised(
    session: Session, rolled: Path
) -> None:
    frame = session.spark.read.format("delta").load(str(rolled / "daily"))
    kinds = {field.name: field.dataType.simpleString() for field in frame.schema}
    assert kinds == {
        **dict.fromkeys(
            ("metric", "kind", "system", "account", "stream", "consumer", "server"), "string"
        ),
        "labels": "map<string,string>",
        "day": "date",
        "count": "bigint",
        "hours": "int",
        **dict.fromkeys(("min", "max", "sum", "first", "last", "increase"), "double"),
        "first_hour": "timestamp",
        "last_hour": "timestamp",
        "resets": "bigint",
        "hour_bits": "int",
    }
    table = open_rollups(str(rolled)).table("daily", *EVER, metrics=["foreign_level"])
    assert frame.where("metric = 'foreign_level'").count() == table.num_rows > 0


def test_literal_samples_become_literal_rows(session: Session, tmp_path: Path) -> None:
    """Two exporters, a reset, a marker, a NaN, and an hour without numbers."""
    identity = {"system": "main", "account": "A", "stream": "S", "consumer": "c"}
    total, verdict = "streamgauge_consumer_deliveries_total", "streamgauge_consumer_verdict"
    one, two = (labels(total, **identity, instance=name) for name in ("one", "two"))
    state = labels(verdict, **identity, instance="one")
    at = MONDAY + 3 * HOUR
    samples: list[Sample] = [
        (one, at, 10.0), (one, at + MINUTE, 14.0), (one, at + 2 * MINUTE, 3.0),
        (two, at, 10.0), (two, at + MINUTE, 14.0),
        (two, at + HOUR, 20.0), (two, at + HOUR + MINUTE, 25.0), (one, at + HOUR, 4.0),
        (one, at + 2 * HOUR, math.nan), (one, at + 2 * HOUR + 1, STALE),
        (state, at, 0.0), (state, at + 2 * MINUTE, 5.0), (state, at + 3 * MINUTE, 0.0),
        (state, at + HOUR, STALE),
    ]  # fmt: skip
    RollupArchive(tmp_path / "archive").add(samples, now=MONDAY + 5 * DAY)
    run(session, tmp_path / "archive", tmp_path / "out", forecasts=False, hourly=(total,))
    rollups = open_rollups(str(tmp_path / "out"))
    identity = {"metric": total, "kind": "counter", **identity, "server": "", "labels": {}}
    counter, gauge = rows_of(rollups.table("daily", *EVER))
    assert counter == {
        **identity, "day": date(2026, 9, 28), "count": 5, "hours": 2, "min": 3.0, "max": 25.0,
        "sum": 72.0, "first": 10.0, "last": 25.0, "increase": 7.0 + 11.0, "resets": 1,
        "first_hour": datetime(2026, 9, 28, 3, tzinfo=UTC),
        "last_hour": datetime(2026, 9, 28, 4, tzinfo=UTC), "hour_bits": 0b11000,
    }  # fmt: skip
    assert (gauge["metric"], gauge["count"], gauge["increase"]) == (verdict, 3, None)
    hours = rows_of(rollups.table("hourly_gauges", *EVER))
    assert [(row["hour"].hour, row["count"], row["increase"]) for row in hours] == [
        (3, 3, 7.0),
        (4, 2, 11.0),
    ]
    states = rows_of(rollups.table("states", *EVER))
    assert [(row["value"], row["samples"], row["seconds"]) for row in states] == [
        (0.0, 2, 120.0 + 300.0),
        (5.0, 1, 60.0),
    ]


def test_a_condition_holds_while_its_series_exists_and_is_unknown_without_data(
    session: Session, tmp_path: Path
) -> None:
    """Ten minutes stuck, five of two starts; then well; then the exporter is blind for the rest."""
    who = {"system": "main", "account": "A", "stream": "S", "consumer": "c"}
    verdict = labels("streamgauge_consumer_verdict", **who)
    stuck, other = (
        labels("streamgauge_consumer_condition_start_timestamp_seconds", **each, condition="stuck")
        for each in (who, {**who, "consumer": "not watched"})
    )
    at = MONDAY + 23 * HOUR
    samples: list[Sample] = [
        *((verdict, at + n * MINUTE, 7.0 if n < 10 else 0.0) for n in range(30)),
        (verdict, at + 30 * MINUTE, STALE),
        *((stuck, at + n * MINUTE, 1e9 if n < 5 else 1e9 + 60) for n in range(10)),
        (stuck, at + 10 * MINUTE, STALE),
        (other, at + 58 * MINUTE, 1e9),
    ]
    RollupArchive(tmp_path / "archive").add(samples, now=MONDAY + 5 * DAY)
    run(session, tmp_path / "archive", tmp_path / "out", forecasts=False)
    rows = rows_of(open_rollups(str(tmp_path / "out")).table("states", *EVER))
    condition = [row for row in rows if row["labels"] == {"condition": "stuck"}]
    names = ("consumer", "value", "samples", "seconds", "known_seconds")
    assert sorted(tuple(row[name] for name in names) for row in condition) == [
        ("c", 1.0, 10, 600.0, 1800.0),
        ("not watched", 1.0, 1, 120.0, None),  # until midnight
    ]
