"""The command line: errors in one line, and the summary of a run."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.rollups.archive import DAY, MINUTE, MONDAY, RollupArchive, labels

from spark_rollups import main as command
from spark_rollups.filesystem import RollupError
from spark_rollups.java import find_java, java_version
from spark_rollups.jobs.spark_runner import local_slots
from spark_rollups.jobs.worker_tasks import LocalRunner
from spark_rollups.session import SparkSettings, open_session
from spark_rollups.spark_errors import SparkFailedError, reason_in


class ClosableRunner(LocalRunner):
    """In the place of Spark, which other tests start."""

    closed = 0

    def __init__(self, _: object) -> None:
        pass

    def close(self) -> None:
        ClosableRunner.closed += 1


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("published") / "archive"
    identity = labels("streamgauge_consumer_lag_seconds", system="s", consumer="c")
    samples = [(identity, MONDAY + step * 10 * MINUTE, float(step)) for step in range(200)]
    RollupArchive(path).add(samples, now=MONDAY + 5 * DAY)
    return path


@pytest.fixture
def archive(published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(command, "SparkRunner", ClosableRunner)
    shutil.copytree(published, tmp_path / "archive")
    return tmp_path / "archive"


def arguments(archive: Path, *more: str) -> list[str]:
    return ["--archive", str(archive), "--out", str(archive.parent / "out"), *more]


def at(moment: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        command, "time", SimpleNamespace(time=lambda: moment / 1000, monotonic=time.monotonic)
    )


def test_a_run_reports_what_it_wrote_and_closes_its_runner(
    archive: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    at(MONDAY + 35 * DAY, monkeypatch)
    before = ClosableRunner.closed
    assert command.main(arguments(archive)) == 0
    output = capsys.readouterr()
    assert output.out.startswith("2 days written from ")
    assert "forecasts as of 2026-09-28" in output.out
    assert ClosableRunner.closed == before + 1
    assert command.main(arguments(archive)) == 0
    assert capsys.readouterr().out == (
        "2 days, no changes\nno forecasts published: the newest are as of 2026-09-28, 34 days old\n"
    )
    assert ClosableRunner.closed == before + 1, "nothing to do, nothing started"


@pytest.mark.slow
def test_forecasts_of_a_week_ago_are_published_and_older_ones_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "SparkRunner", ClosableRunner)
    identity = {"system": "s", "server": "n1"}
    samples = [
        (labels(metric, **identity), MONDAY + step * 60 * MINUTE, value)
        for metric, value in (("streamgauge_server_storage_used_bytes", 5e9),
                              ("streamgauge_server_storage_limit_bytes", 9e9))
        for step in range(24 * 30)
    ]  # fmt: skip
    RollupArchive(tmp_path / "archive").add(samples, now=MONDAY + 40 * DAY)
    file = tmp_path / "out" / "streamgauge_rollup.prom"
    found = []
    for day in (31, 37, 38):
        at(MONDAY + day * DAY, monkeypatch)
        assert command.main(arguments(tmp_path / "archive")) == 0
        output = capsys.readouterr().out
        text = file.read_text()
        found.append(("_forecast_server_" in text, "no forecasts published" in output))
        assert (
            f"streamgauge_forecast_as_of_timestamp_seconds {(MONDAY + 30 * DAY) / 1000}\n" in text
        )
        assert "streamgauge_rollup_last_success_timestamp_seconds " in text
    assert found == [(True, False), (True, False), (False, True)]


def test_success_is_written_for_prometheus_also_when_nothing_changed(archive: Path) -> None:
    file = archive.parent / "out" / "streamgauge_rollup.prom"
    command.main(arguments(archive))
    first = file.read_text()
    command.main(arguments(archive))
    assert "streamgauge_rollup_last_success_timestamp_seconds " in first
    assert file.read_text() != first


def test_without_forecasts_there_are_days_alone(archive: Path) -> None:
    assert command.main(arguments(archive, "--no-forecasts")) == 0
    (path,) = (archive.parent / "out" / "rollup").glob("*.json")
    manifest = json.loads(path.read_text())
    assert manifest["asof"] == {}
    assert len(manifest["days"]) == 2


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


def test_an_interrupt_reports_that_finished_days_are_kept(
    archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "rollup", interrupted)
    assert command.main(arguments(archive)) == 130
    assert "finished days are kept" in capsys.readouterr().err


def test_a_failure_of_spark_is_reported_with_its_full_text(
    archive: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(*_: object) -> None:
        raise SparkFailedError("An error occurred\n: org.apache.spark.SparkException: Job aborted")

    monkeypatch.setattr(command, "rollup", failing)
    assert command.main(arguments(archive)) == 1
    output = capsys.readouterr().err.splitlines()
    assert output[0] == "An error occurred"
    assert output[-1] == ("streamgauge: Spark failed: org.apache.spark.SparkException: Job aborted")


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


@pytest.mark.parametrize(
    ("master", "slots"), [("local", 1), ("local[3]", 3), ("local[4,2]", 4), ("", os.cpu_count())]
)
def test_a_local_master_gives_the_number_of_parallel_tasks(master: str, slots: int) -> None:
    assert local_slots(master) == slots


def test_without_pyspark_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(RollupError, match=r"pip install .streamgauge\[spark\]"):
        open_session(SparkSettings(remote="sc://127.0.0.1:1"))
