"""The same result elsewhere: on a stand-alone cluster, by spark-submit, through Spark Connect."""

import contextlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pytest
from support.rollups.archive import DAY, MONDAY, RollupArchive
from support.rollups.generated_samples import generated_days
from support.rollups.runs import COMMAND_CONF, CONF, all_rows, run

from spark_rollups.jars import spark_jars
from spark_rollups.session import SparkSettings, open_session
from spark_rollups.worker_zip import main as write_package

ROOT = Path(__file__).parent.parent.parent
pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def spark_home(one_at_a_time: None) -> Path:
    import pyspark

    return Path(pyspark.__file__).parent


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clusters") / "archive"
    RollupArchive(path).add(generated_days(11, MONDAY, 3), now=MONDAY + 10 * DAY)
    return path


@pytest.fixture(scope="module")
def wanted(archive: Path, one_at_a_time: None, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """From this machine alone."""
    out = tmp_path_factory.mktemp("wanted") / "out"
    session = open_session(SparkSettings(master="local[2]", conf=CONF))
    try:
        run(session, archive, out)
    finally:
        session.close()
    return all_rows(out)


def delta() -> list[str]:
    """What a Spark that we do not start needs for Delta tables."""
    jars = ",".join(str(path) for path in spark_jars(os.environ, lambda _: None))
    return [
        "--jars", jars,
        "--conf", "spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension",
        "--conf", "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "--conf", "spark.sql.shuffle.partitions=2",
        "--conf", "spark.databricks.delta.snapshotPartitions=1",
    ]  # fmt: skip


@contextlib.contextmanager
def daemon(spark_home: Path, pattern: str, *arguments: str) -> Iterator[str]:
    """A Spark daemon; waits for the pattern in its log, and stops it at the end."""
    environ = {**os.environ, "SPARK_DAEMON_MEMORY": "512m", "PYSPARK_PYTHON": sys.executable}
    process = subprocess.Popen(
        [str(spark_home / "bin" / "spark-class"), *arguments],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environ,
    )  # fmt: skip
    assert process.stderr is not None
    reader = threading.Thread(target=process.stderr.read)
    try:
        match = _awaited(process.stderr, pattern)
        reader.start()
        yield match
    finally:
        process.terminate()
        process.wait(30)
        if reader.ident is not None:
            reader.join()
        process.stderr.close()


def _awaited(log: IO[str], pattern: str) -> str:
    lines = []
    for line in log:
        lines.append(line)
        if found := re.search(pattern, line):
            return found[1]
    pytest.fail("".join(lines))


@pytest.fixture(scope="module")
def cluster(spark_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One master and two workers of one core each, on this machine."""
    deploy = "org.apache.spark.deploy"
    with contextlib.ExitStack() as stack:
        master = stack.enter_context(
            daemon(spark_home, r"Starting Spark master at (\S+)", f"{deploy}.master.Master",
                   "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        )  # fmt: skip
        for number in range(2):
            work = tmp_path_factory.mktemp(f"worker{number}")
            stack.enter_context(
                daemon(spark_home, r"Successfully registered with master (\S+)",
                       f"{deploy}.worker.Worker", "--host", "127.0.0.1", "--port", "0",
                       "--webui-port", "0", "--cores", "1", "--memory", "512m",
                       "--work-dir", str(work), master)
            )  # fmt: skip
        yield master


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
    return {**os.environ, "PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": str(python)}


def test_a_stand_alone_cluster_gives_the_same_result(
    cluster: str, archive: Path, wanted: Any, environ: dict[str, str], tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "spark_rollups.main", "--archive", str(archive),
         "--out", str(tmp_path), "--master", cluster,
         "--conf", "spark.executor.memory=512m", "--conf", "spark.driver.host=127.0.0.1",
         *COMMAND_CONF],
        cwd=ROOT, env=environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert all_rows(tmp_path) == wanted


def test_spark_submit_of_the_zip_gives_the_same_result(
    spark_home: Path,
    cluster: str,
    archive: Path,
    wanted: Any,
    environ: dict[str, str],
    tmp_path: Path,
) -> None:
    """From a folder where none of our modules is."""
    write_package([str(tmp_path)])
    done = subprocess.run(
        [str(spark_home / "bin" / "spark-submit"), "--master", cluster,
         "--conf", "spark.executor.memory=512m", "--conf", "spark.driver.host=127.0.0.1",
         "--conf", "spark.ui.enabled=false", *delta(),
         "--py-files", str(tmp_path / "streamgauge-spark.zip"),
         str(tmp_path / "streamgauge-rollup.py"),
         "--archive", str(archive), "--out", str(tmp_path / "out")],
        cwd=tmp_path, env=environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert all_rows(tmp_path / "out") == wanted


def test_a_standing_spark_connect_server_gives_the_same_result(
    spark_home: Path, archive: Path, wanted: Any, tmp_path: Path
) -> None:
    pytest.importorskip("grpc")
    with daemon(
        spark_home, r"Spark Connect server started at: \S*?:(\d+)",
        "org.apache.spark.deploy.SparkSubmit", "--master", "local[2]",
        "--conf", "spark.connect.grpc.binding.port=0", "--conf", "spark.ui.enabled=false", *delta(),
        "--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal",
    ) as port:  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "spark_rollups.main", "--archive", str(archive),
             "--out", str(tmp_path), "--remote", f"sc://127.0.0.1:{port}"],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert all_rows(tmp_path) == wanted
