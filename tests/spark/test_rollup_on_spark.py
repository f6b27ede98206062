"""The rollups on a real Spark: one session for all of it, and the command as a user calls it."""

import math
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from support.rollups.archive import (
    DAY,
    HOUR,
    MINUTE,
    MONDAY,
    RollupArchive,
    Sample,
    labels,
    rows_of,
    spoil,
)
from support.rollups.generated_samples import generated_days
from support.rollups.oracle import Oracle, differences, order

from spark_rollups.filesystem import RollupError
from spark_rollups.java import find_java
from spark_rollups.jobs.rollup import Result, rollup
from spark_rollups.jobs.settings import RollupSettings
from spark_rollups.jobs.spark_runner import SparkRunner
from spark_rollups.jobs.unit import Job
from spark_rollups.jobs.worker_tasks import LocalRunner, units_task
from spark_rollups.progress import SilentProgress
from spark_rollups.rollup.tables.reader import Rollups, open_rollups
from spark_rollups.session import SparkSettings
from spark_rollups.spark_errors import SparkFailedError

ROOT = Path(__file__).parent.parent.parent
EVER = date(2000, 1, 1), date(2100, 1, 1)
TABLES = ("daily", "hourly", "shares", "quantiles")


@pytest.fixture(scope="module")
def runner() -> Iterator[SparkRunner]:
    pytest.importorskip("pyspark")
    try:
        find_java(os.environ)
    except RollupError as error:
        pytest.skip(str(error))
    started = SparkRunner(SparkSettings(master="local[2]"))
    yield started
    started.close()


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Sample]]:
    path = tmp_path_factory.mktemp("generated") / "archive"
    samples = generated_days(5, MONDAY, 3)
    RollupArchive(path).add(samples, now=MONDAY + 10 * DAY)
    return path, samples


def run(runner: Any, archive: Path, out: Path, **more: Any) -> Result:
    return rollup(RollupSettings(str(archive), str(out), **more), lambda: runner, SilentProgress())


def all_tables(rollups: Rollups) -> list[Any]:
    return [rollups.table(name, *EVER) for name in TABLES]


def test_literal_samples_become_literal_rows(runner: SparkRunner, tmp_path: Path) -> None:
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
        (one, at + 2 * HOUR, math.nan), (one, at + 2 * HOUR + 1, 0x7FF0000000000002),
        (state, at, 0.0), (state, at + 2 * MINUTE, 5.0), (state, at + 3 * MINUTE, 0.0),
        (state, at + HOUR, 0x7FF0000000000002),
    ]  # fmt: skip
    RollupArchive(tmp_path / "archive").add(samples, now=MONDAY + 5 * DAY)
    run(runner, tmp_path / "archive", tmp_path / "out")
    rollups = open_rollups(str(tmp_path / "out"))
    identity = {"metric": total, "kind": "counter", **identity, "server": "", "labels": {}}
    counter, gauge = rows_of(rollups.table("daily", *EVER))
    assert counter == {
        **identity, "day": date(2026, 9, 28), "count": 5, "hours": 2, "min": 3.0, "max": 25.0,
        "sum": 72.0, "first": 10.0, "last": 25.0, "increase": 7.0 + 11.0, "resets": 1,
        "first_hour": datetime(2026, 9, 28, 3, tzinfo=UTC),
        "last_hour": datetime(2026, 9, 28, 4, tzinfo=UTC),
    }  # fmt: skip
    assert (gauge["metric"], gauge["count"], gauge["increase"]) == (verdict, 3, None)
    hours = rows_of(rollups.table("hourly", *EVER))
    assert [(row["hour"].hour, row["count"], row["increase"]) for row in hours] == [
        (3, 3, 7.0),
        (4, 2, 11.0),
    ]
    shares = rows_of(rollups.table("shares", *EVER))
    assert [(row["value"], row["samples"], row["seconds"]) for row in shares] == [
        (0.0, 2, 120.0 + 300.0),
        (5.0, 1, 60.0),
    ]


@pytest.mark.parametrize("from_raw", [False, True])
def test_spark_gives_the_results_of_one_process_and_of_the_oracle(
    runner: SparkRunner, generated: tuple[Path, list[Sample]], from_raw: bool, tmp_path: Path
) -> None:
    archive, samples = generated
    run(runner, archive, tmp_path / "spark", from_raw=from_raw)
    run(LocalRunner(), archive, tmp_path / "here", from_raw=from_raw)
    ours = open_rollups(str(tmp_path / "spark"))
    assert all_tables(ours) == all_tables(open_rollups(str(tmp_path / "here")))
    oracle = Oracle(samples)
    for name in TABLES:
        rows = sorted(rows_of(ours.table(name, *EVER)), key=order)
        assert differences(rows, getattr(oracle, name)()) == [], name


def test_the_archive_is_open_to_data_frames_and_gives_the_same_days(
    runner: SparkRunner, generated: tuple[Path, list[Sample]], tmp_path: Path
) -> None:
    """Spark's own reader, join, window and functions, with no Python function among them."""
    from support.rollups.data_frames import days_by_data_frames

    archive, _ = generated
    run(runner, archive, tmp_path / "out")
    spark = runner.session().spark
    theirs = {
        (row["metric"], row["consumer"], row["by"], str(row["day"])): row.asDict()
        for row in days_by_data_frames(spark, archive).collect()
    }
    daily = rows_of(open_rollups(str(tmp_path / "out")).table("daily", *EVER))
    assert len(daily) == len(theirs)
    names = ("count", "hours", "min", "max", "first", "last")
    for row in daily:
        other = theirs[row["metric"], row["consumer"], row["labels"].get("by", ""), str(row["day"])]
        assert [row[name] for name in names] == [other[name] for name in names]
        assert math.isclose(row["sum"], other["sum"], rel_tol=1e-12)
        if row["increase"] is not None:
            assert (row["increase"], row["resets"]) == (other["increase"], other["resets"])


def test_spark_reads_the_rollups_in_the_schema_that_is_promised(
    runner: SparkRunner, generated: tuple[Path, list[Sample]], tmp_path: Path
) -> None:
    run(runner, generated[0], tmp_path / "out")
    frame = runner.session().spark.read.parquet(str(tmp_path / "out" / "daily"))
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
    }
    table = open_rollups(str(tmp_path / "out")).table("daily", *EVER, metrics=["foreign_level"])
    assert frame.where("metric = 'foreign_level'").count() == table.num_rows > 0


def test_a_fault_of_a_file_comes_back_from_a_worker_as_one_line(
    runner: SparkRunner, tmp_path: Path
) -> None:
    identity = labels("streamgauge_consumer_lag_seconds", consumer="c")
    samples = [(identity, MONDAY + step * MINUTE, float(step)) for step in range(3)]
    archive = tmp_path / "archive"
    RollupArchive(archive).add(samples, now=MONDAY + 5 * DAY)
    (path,) = (archive / "samples").rglob("00-*.parquet")
    spoil(path)
    with pytest.raises(RollupError, match=f"cannot read .*{path.name}") as raised:
        run(runner, archive, tmp_path / "out", from_raw=True)
    assert "\n" not in str(raised.value)


def test_an_error_in_a_worker_is_reported_with_its_traceback_and_spark_continues(
    runner: SparkRunner,
) -> None:
    with pytest.raises(SparkFailedError, match="JSONDecodeError") as raised:
        list(runner.run(["this is no task"]))
    assert "run_task" in raised.value.story
    job = Job("", "", "", (), (), (), ())
    assert sorted(runner.run([units_task(job, [])] * 9)) == [(index, "[]") for index in range(9)]


def test_the_command_writes_the_tables_and_reports_it(
    runner: SparkRunner, generated: tuple[Path, list[Sample]], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "spark_rollups.main", "--archive", str(generated[0])]
    done = subprocess.run(
        [*command, "--out", str(out), "--master", "local[2]"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=150,
        env={**os.environ, "TZ": "America/St_Johns"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "3 days written from" in done.stdout
    assert "result 2 in" in done.stdout  # the days first, then the forecasts
    assert "WARN" not in done.stderr
    run(runner, generated[0], tmp_path / "here")
    assert all_tables(open_rollups(str(out))) == all_tables(open_rollups(str(tmp_path / "here")))
