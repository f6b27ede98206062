"""Spark processes that we do not start in production: a stand-alone cluster, a Connect server."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import pytest

from spark_rollups.jars import spark_jars

ROOT = Path(__file__).parents[3]
_DEPLOY = "org.apache.spark.deploy"


def delta_conf() -> list[str]:
    """What a Spark of others needs for Delta tables, and few partitions for small tests."""
    jars = ",".join(str(path) for path in spark_jars(os.environ, lambda _: None))
    return [
        "--jars", jars,
        "--conf", "spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension",
        "--conf", "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "--conf", "spark.sql.shuffle.partitions=2",
        "--conf", "spark.databricks.delta.snapshotPartitions=1",
    ]  # fmt: skip


class Daemon:
    """A Java process of Spark in a process group of its own; `found` is what its log said."""

    def __init__(self, pattern: str, *arguments: str) -> None:
        import pyspark

        environ = {**os.environ, "SPARK_DAEMON_MEMORY": "512m", "PYSPARK_PYTHON": sys.executable}
        script = Path(pyspark.__file__).parent / "bin" / "spark-class"
        self.process = subprocess.Popen(
            [str(script), *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, env=environ, start_new_session=True,
        )  # fmt: skip
        assert self.process.stderr is not None
        self._drain = threading.Thread(target=self.process.stderr.read, daemon=True)
        try:
            self.found = _awaited(self.process.stderr, pattern)
        except BaseException:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise
        self._drain.start()

    def kill(self) -> None:
        """With its executors, as a machine that fails."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._drain.join()
        assert self.process.stderr is not None
        self.process.stderr.close()


def _awaited(log: IO[str], pattern: str) -> str:
    lines = []
    for line in log:
        lines.append(line)
        if found := re.search(pattern, line):
            return found[1]
    pytest.fail("".join(lines))


class Cluster:
    """A master, and workers of one core each."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._numbers = folder, iter(range(1000))
        self._master = Daemon(
            r"Starting Spark master at (\S+)", f"{_DEPLOY}.master.Master",
            "--host", "127.0.0.1", "--port", "0", "--webui-port", "0",
        )  # fmt: skip
        self.address, self.workers = self._master.found, list[Daemon]()

    def have_workers(self, number: int) -> None:
        while len(self.workers) < number:
            self.workers.append(self._worker())

    def replace_worker(self) -> None:
        """The oldest is killed, and another comes."""
        self.workers.pop(0).kill()
        self.workers.append(self._worker())

    def close(self) -> None:
        for daemon in (*self.workers, self._master):
            daemon.kill()

    def _worker(self) -> Daemon:
        return Daemon(
            r"Successfully registered with master (\S+)", f"{_DEPLOY}.worker.Worker",
            "--host", "127.0.0.1", "--port", "0", "--webui-port", "0", "--cores", "1",
            "--memory", "512m", "--work-dir", str(self._folder / str(next(self._numbers))),
            self.address,
        )  # fmt: skip


@contextlib.contextmanager
def connect_server(*conf: str) -> Iterator[str]:
    """Its address."""
    server = Daemon(
        r"Spark Connect server started at: \S*?:(\d+)",
        f"{_DEPLOY}.SparkSubmit", "--master", "local[2]", "--driver-memory", "1g",
        "--conf", "spark.connect.grpc.binding.port=0", "--conf", "spark.ui.enabled=false",
        *delta_conf(), *conf,
        "--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal",
    )  # fmt: skip
    try:
        yield f"sc://127.0.0.1:{server.found}"
    finally:
        server.kill()


class RollupProcess:
    """`streamgauge rollup` in a process group of its own; its lines on stderr can be awaited."""

    def __init__(
        self, archive: Path, out: Path, *more: str, environ: Mapping[str, str] = os.environ
    ) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "spark_rollups.main", "--archive", str(archive),
             "--out", str(out), *more],
            cwd=ROOT, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
        self.pid, self.errors, self._grew = self._process.pid, "", threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def await_error_line(self, words: str) -> None:
        with self._grew:
            self._grew.wait_for(lambda: words in self.errors or not self._reader.is_alive())
        assert words in self.errors, self.errors

    def ended_within(self, seconds: float) -> bool:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def running_job(self, executors: int) -> str:
        """What Spark's UI calls a job whose tasks run, as soon as there is one and all executors.

        "" if the run ends before.
        """
        (address,) = re.findall(r"Spark UI: (\S+)", self.errors)
        while not self.ended_within(0.02):
            with contextlib.suppress(OSError):  # it is about to end
                (application,) = _json(f"{address}/api/v1/applications")
                base = f"{address}/api/v1/applications/{application['id']}"
                present = [each["id"] for each in _json(f"{base}/executors")]
                jobs = [each for each in _json(f"{base}/jobs") if each["numActiveTasks"]]
                if len(present) > executors and jobs:  # one more is the driver
                    return str(jobs[0]["description"])
        return ""

    @property
    def signal(self) -> int:
        """That ended the process; 0 if it ended by itself."""
        return -min(self._process.returncode, 0)

    def kill(self) -> None:
        """Python and Java: the machine of the driver fails."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.exit_code()

    def kill_java(self) -> None:
        """As a machine without memory does."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        (java,) = [pid for pid in children if Path(f"/proc/{pid}/comm").read_text() == "java\n"]
        os.kill(int(java), signal.SIGKILL)

    def exit_code(self) -> int:
        code = self._process.wait()
        self._reader.join()
        return code

    def _read(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            for line in lines:
                with self._grew:
                    self.errors += line
                    self._grew.notify_all()
        with self._grew:
            self._grew.notify_all()


def _json(address: str) -> Any:
    with urllib.request.urlopen(address) as response:
        return json.load(response)


def cluster_options(cluster: Cluster, conf: Sequence[str]) -> list[str]:
    return ["--master", cluster.address, "--conf", "spark.executor.memory=512m",
            "--conf", "spark.executor.extraJavaOptions=-XX:TieredStopAtLevel=1",
            "--conf", "spark.driver.host=127.0.0.1", *conf]  # fmt: skip
