"""Opens a Spark session: local, on a cluster, under spark-submit, or by Spark Connect."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from spark_rollups.filesystem import RollupError
from spark_rollups.java import FLAGS, ClassArchive, find_java
from spark_rollups.java_process import end_java, launch_java
from spark_rollups.spark_errors import is_spark, reason_in
from spark_rollups.worker_zip import package_zip

_LOG: Final = Path(__file__).with_name("log4j2.properties")
# Python workers do the work; the JVM only schedules tasks.
_BASE: Final = {
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.session.timeZone": "UTC",
    "spark.python.worker.reuse": "true",
    "spark.ui.showConsoleProgress": "false",
}
_LOCAL: Final = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_SECONDS_TO_END: Final = 60


@dataclass(frozen=True, slots=True)
class SparkSettings:
    master: str = ""  # "": all cores of this machine, or the master of spark-submit
    remote: str = ""  # the address of a Spark Connect server, sc://host:port
    conf: Mapping[str, str] = field(default_factory=dict)

    @property
    def submitted(self) -> bool:
        """Whether spark-submit started this process: then Java runs and the master is set."""
        return "PYSPARK_GATEWAY_PORT" in os.environ

    @property
    def local(self) -> bool:
        return not self.remote and (self.master or "local[*]").startswith("local")


class Session:
    """`spark` is the session; `close` ends it and the Java that we started."""

    def __init__(
        self, spark: Any, archive: ClassArchive | None, sent: contextlib.ExitStack
    ) -> None:
        self.spark = spark
        self._archive = archive
        self._sent = sent  # files that new executors fetch from the driver

    def close(self) -> None:
        with self._sent:
            self.spark.stop()
            if self._archive is not None and end_java(_SECONDS_TO_END):
                self._archive.settle()


def open_session(settings: SparkSettings) -> Session:
    """Raises RollupError without Java or Spark, or for an unknown master."""
    with _one_line_errors():
        if settings.remote:
            return _connected(settings)
        archive = None if settings.submitted else _prepare_java(settings)
        return _classic(settings, archive)


def _connected(settings: SparkSettings) -> Session:
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote(settings.remote).getOrCreate()
    sent = contextlib.ExitStack()
    spark.addArtifacts(str(sent.enter_context(package_zip())), pyfile=True)
    return Session(spark, None, sent)


def _classic(settings: SparkSettings, archive: ClassArchive | None) -> Session:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("streamgauge rollup")
    if settings.submitted:
        builder = builder.config("spark.sql.session.timeZone", "UTC")
    else:
        builder = builder.master(settings.master or "local[*]")
        conf = _configuration(settings, archive)
        for key, value in conf.items():
            builder = builder.config(key, value)
        launch_java(conf)
    spark = builder.getOrCreate()
    sent = contextlib.ExitStack()
    if not settings.local and not settings.submitted:
        spark.sparkContext.addPyFile(str(sent.enter_context(package_zip())))
    return Session(spark, archive, sent)


def _configuration(settings: SparkSettings, archive: ClassArchive | None) -> dict[str, str]:
    flags = [*FLAGS, *(archive.flags() if archive else ()), f"-Dlog4j2.configurationFile={_LOG}"]
    own = {**_BASE, **(_LOCAL if settings.local else {}), **settings.conf}
    extra = own.get("spark.driver.extraJavaOptions", "")
    return {**own, "spark.driver.extraJavaOptions": " ".join([*flags, extra]).strip()}


def _prepare_java(settings: SparkSettings) -> ClassArchive:
    java = find_java(os.environ)
    from pyspark.find_spark_home import _find_spark_home

    os.environ.setdefault("SPARK_LAUNCHER_OPTS", " ".join(FLAGS[:3]))
    if settings.local:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return ClassArchive(java, Path(_find_spark_home()), os.environ)


@contextlib.contextmanager
def _one_line_errors() -> Any:
    """Turns errors of the environment into RollupError; bugs keep their traceback."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise RollupError(
            f"{error.name} is not installed: pip install 'streamgauge[spark]'"
        ) from error
    except ImportError as error:  # a missing dependency of Spark Connect
        raise RollupError(f"Spark cannot be used: {str(error).splitlines()[0]}") from error
    except RollupError:
        raise
    except Exception as error:
        if not is_spark(error):
            raise
        raise RollupError(f"Spark does not start: {reason_in(str(error))}") from error
