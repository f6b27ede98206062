"""The command line: errors in one line, and the summary of a run."""

import os
import shutil
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.rollups.archive import DAY, MINUTE, MONDAY, RollupArchive, labels
from support.rollups.delta_tables import write_rollups

from spark_rollups import main as command
from spark_rollups.filesystem import RollupError
from spark_rollups.java import find_java, java_version
from spark_rollups.jobs.archive_days import open_archive
from spark_rollups.jobs.settings import RollupSettings
from spark_rollups.rollup.tables.schemas import FORECASTS
from spark_rollups.session import SparkSettings, open_session
from spark_rollups.spark_errors import SparkFailedError, java_died, reason_in

FORECAST = {
    **{name: None for name in FORECASTS.names if FORECASTS.field(name).type != "string"},
    "subject": "server", "system": "s", "server": "n1", "limit_name": "storage",
    "metric": "streamgauge_server_storage_used_bytes", "level": 5e9, "limit": 9e9,
    "outlook": "act", "likely": date(2026, 10, 9), "level_30d_q50": 6e9, "days": 30, "dropped": 0,
}  # fmt: skip


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("published") / "archive"
    identity = labels("streamgauge_consumer_lag_seconds", system="s", consumer="c")
    samples = [(identity, MONDAY + step * 10 * MINUTE, float(step)) for step in range(200)]
    RollupArchive(path).add(samples, now=MONDAY + 5 * DAY)
    return path


@pytest.fixture
def archive(published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Other tests start Spark."""
    monkeypatch.setattr(command, "open_session", _no_spark)
    shutil.copytree(published, tmp_path / "archive")
    return tmp_path / "archive"


def _no_spark(*_: object) -> None:
    raise RollupError("Spark is started")


@pytest.fixture
def rolled(archive: Path) -> Path:
    """As if the rollups had been made: nothing has changed since."""
    days = [date(2026, 9, 28), date(2026, 9, 29)]
    versions = open_archive(str(archive)).versions
    forecast = {**dict.fromkeys(FORECASTS.names, ""), **FORECAST, "as_of": days[0]}
    write_rollups(
        archive.parent / "out",
        {"daily": [{"day": day, "hour_bits": 1} for day in days], "forecasts": [forecast]},
        days[:1], archive=versions, settings=RollupSettings("", "").meaning(), waiting=[], daily=0,
    )  # fmt: skip
    return archive


def arguments(archive: Path, *more: str) -> list[str]:
    return ["--archive", str(archive), "--out", str(archive.parent / "out"), *more]


def at(moment: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        command, "time", SimpleNamespace(time=lambda: moment / 1000, monotonic=time.monotonic)
    )


def test_without_changes_spark_is_not_started_and_success_is_written(
    rolled: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, found = rolled.parent / "out" / "streamgauge_rollup.prom", []
    for day in (1, 8, 9):
        at(MONDAY + day * DAY, monkeypatch)
        assert command.main(arguments(rolled)) == 0
        output, text = capsys.readouterr().out, file.read_text()
        assert output.startswith("2 days, no changes\n")
        found.append(("_forecast_server_" in text, "no forecasts published" in output))
        as_of = f"streamgauge_forecast_as_of_timestamp_seconds {(MONDAY + DAY) / 1000}\n"
        assert as_of in text
        success = f"streamgauge_rollup_last_success_timestamp_seconds {(MONDAY + day * DAY) / 1000}"
        assert success in text
    assert found == [(True, False), (True, False), (False, True)], (
        "forecasts of a week ago are published"
    )


def test_with_work_spark_is_started(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(arguments(archive)) == 2
    assert "Spark is started" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--from", "2026-13-01"], "--from: '2026-13-01' is not a day of the form YYYY-MM-DD"),
        (["--to", "yesterday"], "--to: 'yesterday' is not a day"),
        (["--conf", "spark.x"], "--conf: 'spark.x' is not KEY=VALUE"),
        (["--from", "2020-01-01"], "has no day 2020-01-01"),
        (["--master", "local", "--remote", "sc://x"], "--remote: not allowed with"),
        (["--what"], "unrecognized arguments: --what"),
    ],
)
def test_an_error_is_reported_in_one_line(
    archive: Path, more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(arguments(archive, *more)) == 2
    output = capsys.readouterr().err
    assert output.startswith("streamgauge: ")
    assert message in output
    assert output.count("\n") == 1


def test_a_missing_archive_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--archive", str(tmp_path / "no\x1b[2Jne"), "--out", str(tmp_path)]) == 2
    output = capsys.readouterr().err
    assert "no archive here" in output
    assert "\x1b" not in output


def test_an_unknown_scheme_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--archive", "nowhere://key:secret@x/y", "--out", "z"]) == 2
    output = capsys.readouterr().err
    assert "nowhere://***@x/y" in output
    assert "secret" not in output


def test_an_interrupt_reports_that_finished_tables_are_kept(
    archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "rollup", interrupted)
    assert command.main(arguments(archive)) == 130
    assert "finished tables are kept" in capsys.readouterr().err


def test_a_failure_of_spark_is_reported_with_its_full_text(
    archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(*_: object) -> None:
        story = "An error occurred\n: org.apache.spark.SparkException: Job aborted"
        raise SparkFailedError(story, "there is no result yet")

    monkeypatch.setattr(command, "rollup", failing)
    assert command.main(arguments(archive)) == 1
    output = capsys.readouterr().err.splitlines()
    assert output[0] == "An error occurred"
    failed = "streamgauge: Spark failed: org.apache.spark.SparkException: Job aborted"
    assert output[-1] == f"{failed}; there is no result yet"


def test_java_that_dies_during_a_call_looks_like_a_missing_class() -> None:
    class Py4JError(Exception): ...

    assert java_died(
        Py4JError("org.apache.spark.sql.classic.SparkSession does not exist in the JVM")
    )
    assert java_died(ConnectionRefusedError())
    assert not java_died(Py4JError("Job aborted"))


def test_the_reason_is_the_workers_own_error() -> None:
    story = """Job aborted: org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 1, in main
ValueError: seven is no number
\tat org.apache.spark.Executor"""
    text = story.replace("PythonException: Traceback", "PythonException:\nTraceback")
    assert reason_in(text) == "ValueError: seven is no number"
    assert reason_in("") == "no reason given"


def test_without_java_the_command_reports_what_to_do(archive: Path, tmp_path: Path) -> None:
    """The real command, with a PATH in which there is no Java."""
    pytest.importorskip("pyspark")
    environ = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"}
    done = subprocess.run(
        [sys.executable, "-m", "spark_rollups.main", *arguments(archive)],
        env={**environ, "PATH": str(tmp_path)}, capture_output=True, text=True, check=False,
        cwd=Path(__file__).parents[4],
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == (
        "streamgauge: no Java found. Spark needs Java 17 or newer: install a JRE "
        "(Debian: openjdk-17-jre-headless), or set JAVA_HOME\n"
    )


def java_of(tmp_path: Path, version: str) -> Path:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("")
    (tmp_path / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return tmp_path / "bin" / "java"


@pytest.mark.parametrize(("version", "number"), [("17.0.15", 17), ("1.8.0_292", 8), ("21", 21)])
def test_the_version_of_java_is_read_beside_it(tmp_path: Path, version: str, number: int) -> None:
    assert java_version(java_of(tmp_path, version)) == number


def test_an_old_java_and_a_wrong_home_are_reported(tmp_path: Path) -> None:
    java_of(tmp_path, "11.0.2")
    with pytest.raises(RollupError, match=r"is Java 11\. Spark needs Java 17"):
        find_java({"JAVA_HOME": str(tmp_path)})
    with pytest.raises(RollupError, match="JAVA_HOME is /none, but there is no bin/java in it"):
        find_java({"JAVA_HOME": "/none"})


def test_without_pyspark_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(RollupError, match=r"pip install .streamgauge\[spark\]"):
        open_session(SparkSettings(remote="sc://127.0.0.1:1"))


@pytest.mark.parametrize("table", ["samples", "hourly", "series"])
def test_a_missing_table_of_the_archive_is_named(
    archive: Path, capsys: pytest.CaptureFixture[str], table: str
) -> None:
    shutil.rmtree(archive / table)
    assert command.main(arguments(archive)) == 2
    assert f"{archive}: no archive here (no table {table})" in capsys.readouterr().err


@pytest.mark.parametrize("damage", [b'{"add":{"path":"day=2', b"no JSON\n", b'{"add": 3}\n'])
@pytest.mark.parametrize("table", ["samples", "hourly", "series"])
def test_a_damaged_log_of_the_archive_is_one_line_that_names_the_table(
    archive: Path, capsys: pytest.CaptureFixture[str], table: str, damage: bytes
) -> None:
    max((archive / table / "_delta_log").glob("*.json")).write_bytes(damage)
    assert command.main(arguments(archive)) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert f"{archive}/{table}" in error


def test_a_damaged_log_of_the_rollups_is_one_line_that_names_the_table(
    rolled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    daily = rolled.parent / "out" / "daily"
    max((daily / "_delta_log").glob("*.json")).write_bytes(b"no JSON\n")
    assert command.main(arguments(rolled)) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert str(daily) in error
