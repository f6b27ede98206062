"""The same result elsewhere: on a stand-alone cluster, by spark-submit, through Spark Connect."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.rollups.archive import DAY, MINUTE, MONDAY, RollupArchive
from support.rollups.generated_samples import generated_days
from support.rollups.runs import COMMAND_CONF, CONF, all_rows, run
from support.rollups.spark_cluster import (
    Cluster,
    RollupProcess,
    cluster_options,
    connect_server,
    delta_conf,
)

from spark_rollups.jobs.snapshots import outdated_snapshots
from spark_rollups.rollup.tables.reader import open_rollups
from spark_rollups.session import SparkSettings, open_session
from spark_rollups.worker_zip import main as write_package

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]

KILLS = 10
STARTED = "Spark UI: http://"
FIRST_JOB = "rollup 2026-09-28 to 2026-09-30: series and their identities"
BOTH_SOURCES = pytest.mark.parametrize("more", [(), ("--from-raw",)], ids=["hourly", "samples"])


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clusters") / "archive"
    RollupArchive(path).add(generated_days(11, MONDAY, 3), now=MONDAY + 10 * DAY)
    return path


@pytest.fixture(scope="module")
def changed(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same archive after late samples of each day."""
    path = tmp_path_factory.mktemp("changed") / "archive"
    shutil.copytree(archive, path)
    late = [(identity, at + MINUTE, value)
            for identity, at, value in generated_days(12, MONDAY, 3)[::50]]  # fmt: skip
    RollupArchive(path).add(late, now=MONDAY + 10 * DAY)
    return path


@pytest.fixture(scope="module")
def results(
    archive: Path, changed: Path, one_at_a_time: None, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    """Of both archives, from this machine alone."""
    outs = tuple(tmp_path_factory.mktemp("results") / name for name in ("out", "changed"))
    session = open_session(SparkSettings(master="local[2]", conf=CONF))
    try:
        for source, out in zip((archive, changed), outs, strict=True):
            run(session, source, out)
    finally:
        session.close()
    return outs[0], outs[1]


@pytest.fixture(scope="module")
def wanted(results: tuple[Path, Path]) -> Any:
    return all_rows(results[0])


@pytest.fixture(scope="module")
def cluster(one_at_a_time: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    found = Cluster(tmp_path_factory.mktemp("work"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Workers whose Python has the libraries and none of our modules: they live on what is sent."""
    libraries = Path(pa.__file__).parent.parent
    python = tmp_path_factory.mktemp("python") / "python3"
    # Without `site`, the file that makes our folder importable is not read.
    python.write_text(
        f'#!/bin/sh\nPYTHONPATH="{libraries}:$PYTHONPATH" exec {sys.executable} -S "$@"\n'
    )
    python.chmod(0o755)
    others = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**others, "PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": str(python)}


def test_a_stand_alone_cluster_reports_progress_from_the_start_and_gives_the_same_result(
    cluster: Cluster, archive: Path, wanted: Any, environ: dict[str, str], tmp_path: Path
) -> None:
    """Its workers come late: Spark's own stages say so."""
    options = cluster_options(cluster, COMMAND_CONF)
    rollup = RollupProcess(archive, tmp_path / "out", *options, environ=environ)
    rollup.await_error_line(STARTED)
    rollup.await_error_line(FIRST_JOB)
    rollup.await_error_line("tasks wait for executors")
    cluster.have_workers(2)
    assert rollup.exit_code() == 0, rollup.errors
    assert "rollup 2026-09-28 to 2026-09-30: hours to days" in rollup.errors
    assert all_rows(tmp_path / "out") == wanted


@BOTH_SOURCES
def test_spark_submit_of_the_zip_gives_the_same_result(
    cluster: Cluster,
    archive: Path,
    wanted: Any,
    environ: dict[str, str],
    tmp_path: Path,
    more: Sequence[str],
) -> None:
    """From a folder where none of our modules is; hours from the archive or the data source."""
    import pyspark

    cluster.have_workers(2)
    write_package([str(tmp_path)])
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    done = subprocess.run(
        [str(submit), "--conf", "spark.ui.enabled=false", "--driver-memory", "1g",
         *cluster_options(cluster, delta_conf()),
         "--py-files", str(tmp_path / "streamgauge-spark.zip"),
         str(tmp_path / "streamgauge-rollup.py"),
         "--archive", str(archive), "--out", str(tmp_path / "out"), *more],
        cwd=tmp_path, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    assert all_rows(tmp_path / "out") == wanted


@BOTH_SOURCES
def test_a_running_spark_connect_server_gives_the_same_result(
    one_at_a_time: None, archive: Path, wanted: Any, tmp_path: Path, more: Sequence[str]
) -> None:
    pytest.importorskip("grpc")
    (log := tmp_path / "log").mkdir()
    conf = ("--conf", "spark.eventLog.enabled=true", "--conf", f"spark.eventLog.dir=file://{log}",
            "--conf", "spark.eventLog.compress=false")  # fmt: skip
    with connect_server(*conf) as address:
        rollup = RollupProcess(archive, tmp_path / "out", "--remote", address, *more)
        assert rollup.exit_code() == 0, rollup.errors
    title = "rollup 2026-09-28 to 2026-09-30: hours to days"
    assert title in rollup.errors
    assert any(title in tags for tags in tags_of_jobs(log))
    assert all_rows(tmp_path / "out") == wanted


def tags_of_jobs(log: Path) -> list[str]:
    """From Spark's event log."""
    lines = (line for path in log.rglob("events_*") for line in path.read_text().splitlines())
    events = [json.loads(line) for line in lines if "SparkListenerJobStart" in line]
    return [event["Properties"].get("spark.job.tags", "") for event in events]


def test_workers_and_drivers_die_at_random_moments(
    cluster: Cluster, changed: Path, results: tuple[Path, Path], tmp_path: Path
) -> None:
    """A run survives its worker, also one that follows a driver that died.

    After a driver readers see the old or the new result as a whole.
    """
    cluster.have_workers(2)
    options, chance = cluster_options(cluster, COMMAND_CONF), random.Random(21)
    old, new = map(all_rows, results)
    first = RollupProcess(changed, tmp_path / "first", *options)
    first.await_error_line(STARTED)
    began = time.monotonic()
    assert first.exit_code() == 0
    took = time.monotonic() - began
    for number in range(KILLS):
        begun, out, where = results[0], tmp_path / str(number), f"kill {number}"
        if number % 2:
            begun = tmp_path / f"{number}-begun"
            job = with_a_killed_driver(changed, results[0], begun, options, chance.random() * took)
            where += f" after that of a driver in {job}"
            assert all_rows(begun) in (old, new), where
        rollup, job = at_a_running_job(changed, begun, out, options, chance.random() * took)
        cluster.replace_worker()
        where += f" of a worker in {job}"
        assert rollup.exit_code() == 0, (where, rollup.errors)
        assert "Lost executor" in rollup.errors, (where, rollup.errors)
        assert all_rows(out) == new, where


def with_a_killed_driver(
    archive: Path, old: Path, out: Path, options: Sequence[str], seconds: float
) -> str:
    """Leaves the result of a run that was killed with work left, and names the job."""
    while True:
        rollup, job = at_a_running_job(archive, old, out, options, seconds)
        rollup.kill()
        assert rollup.signal == signal.SIGKILL, job
        if all_rows(out) == all_rows(old) or outdated_snapshots(open_rollups(str(out)))[0]:
            return job
        shutil.rmtree(out)
        seconds /= 2


def at_a_running_job(
    archive: Path, old: Path, out: Path, options: Sequence[str], seconds: float
) -> tuple[RollupProcess, str]:
    """A run on top of `old`, and its job at the first moment with one after that time.

    A run that is quicker than expected is repeated, and met in half the time.
    """
    while True:
        shutil.copytree(old, out)
        rollup = RollupProcess(archive, out, *options)
        rollup.await_error_line(STARTED)
        if not rollup.ended_within(seconds) and (job := rollup.running_job(executors=2)):
            return rollup, job
        assert rollup.exit_code() == 0, rollup.errors
        shutil.rmtree(out)
        seconds /= 2
