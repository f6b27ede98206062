"""Opens a Spark session: local, on a cluster, under spark-submit, or by Spark Connect."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from spark_rollups.filesystem import RollupError
from spark_rollups.jars import spark_jars
from spark_rollups.java import FLAGS, ClassArchive, find_java
from spark_rollups.java_process import end_java, launch_java
from spark_rollups.pinned_jars import DELTA, S3, Jar
from spark_rollups.progress import Progress
from spark_rollups.s3a import s3a_configuration
from spark_rollups.spark_errors import is_spark, reason_in, while_java_lives
from spark_rollups.stage_progress import ConnectProgress, StageProgress
from spark_rollups.worker_zip import package_zip

_LOG: Final = Path(__file__).with_name("log4j2.properties")
_BASE: Final = {
    "spark.ui.enabled": "true",
    "spark.ui.port": "0",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.python.worker.reuse": "true",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
_LOCAL: Final = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "16",
    # With the default of 50 each read of a small table takes seconds on two cores.
    "spark.databricks.delta.snapshotPartitions": "1",
}
# The plans need these; a session that others made gets them too.
_QUERY: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Spark 4.2 cannot read the byte streams of `samples` in vectors.
    "spark.sql.parquet.enableNestedColumnVectorizedReader": "false",
    "spark.sql.python.filterPushdown.enabled": "true",
    # Readers select by metric, the first column, and by day.
    "spark.databricks.delta.properties.defaults.dataSkippingNumIndexedCols": "1",
}
_GB: Final = 2**30
_SECONDS_TO_END: Final = 60


@dataclass(frozen=True, slots=True)
class SparkSettings:
    master: str = ""  # "": all cores of this machine, or the master of spark-submit
    remote: str = ""  # the address of a Spark Connect server, sc://host:port
    conf: Mapping[str, str] = field(default_factory=dict)
    s3: bool = False  # archive or rollups are on S3

    @property
    def jars(self) -> tuple[Jar, ...]:
        return (*DELTA, *S3) if self.s3 else DELTA

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
        self, spark: Any, archive: ClassArchive | None, sent: contextlib.ExitStack, *, remote: bool
    ) -> None:
        self.spark = spark
        self.remote = remote
        self._archive = archive
        self._sent = sent  # files that new executors fetch from the driver

    @contextlib.contextmanager
    def job(self, title: str, progress: Progress) -> Iterator[None]:
        """The actions of the block have this title in the UI, and progress on stderr."""
        if not self.remote:
            self.spark.sparkContext.setJobDescription(title)
            with StageProgress(self.spark).of(title, progress):
                yield
            return
        self.spark.addTag(title)  # the server describes its jobs itself
        try:
            with ConnectProgress(self.spark).of(title, progress):
                yield
        finally:
            self.spark.removeTag(title)

    def close(self) -> None:
        with self._sent:
            with while_java_lives():
                self.spark.stop()
            if self._archive is not None and end_java(_SECONDS_TO_END):
                self._archive.settle()


def open_session(settings: SparkSettings, log: Callable[[str], None] = lambda _: None) -> Session:
    """Raises RollupError without Java, Spark or the jars, or for an unknown master."""
    with _one_line_errors():
        if settings.remote:
            session = _connected(settings)
        else:
            session = _classic(settings, log)
            if url := session.spark.sparkContext.uiWebUrl:
                log(f"Spark UI: {url}")
        for key, value in _QUERY.items():
            session.spark.conf.set(key, value)
        return session


def _connected(settings: SparkSettings) -> Session:
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote(settings.remote).getOrCreate()
    sent = contextlib.ExitStack()
    spark.addArtifacts(str(sent.enter_context(package_zip())), pyfile=True)
    return Session(spark, None, sent, remote=True)


def _classic(settings: SparkSettings, log: Callable[[str], None]) -> Session:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("streamgauge rollup")
    archive = None
    if not settings.submitted:
        archive = _prepare_java(settings)
        conf = _configuration(settings, archive, log)
        builder = builder.master(settings.master or "local[*]")
        for key, value in conf.items():
            builder = builder.config(key, value)
        launch_java(conf)
    spark = builder.getOrCreate()
    _quiet_accumulators(spark)
    sent = contextlib.ExitStack()
    if not settings.local and not settings.submitted:
        spark.sparkContext.addPyFile(str(sent.enter_context(package_zip())))
    return Session(spark, archive, sent, remote=False)


def _configuration(
    settings: SparkSettings, archive: ClassArchive, log: Callable[[str], None]
) -> dict[str, str]:
    jars = [str(path) for path in spark_jars(os.environ, log, settings.jars)]
    own = {
        "spark.driver.memory": _heap(),
        **_BASE,
        **(_LOCAL if settings.local else {}),
        **(s3a_configuration(os.environ) if settings.s3 else {}),
        **settings.conf,
    }
    flags = [*FLAGS, *archive.flags(), f"-Dlog4j2.configurationFile={_LOG}"]
    extra = own.get("spark.driver.extraJavaOptions", "")
    # Classes on the class path start faster: they are part of the class archive.
    key, separator = ("spark.driver.extraClassPath", ":") if settings.local else ("spark.jars", ",")
    return {
        **own,
        key: separator.join([*jars, *filter(None, [settings.conf.get(key)])]),
        "spark.driver.extraJavaOptions": " ".join([*flags, extra]).strip(),
    }


def _heap() -> str:
    """A quarter of the memory, from 1 to 4 GB."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{min(max(total // 4 // _GB, 1), 4)}g"


def _prepare_java(settings: SparkSettings) -> ClassArchive:
    java = find_java(os.environ)
    from pyspark.find_spark_home import _find_spark_home

    if settings.local:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return ClassArchive(java, Path(_find_spark_home()), os.environ, repr(settings.jars))


@contextlib.contextmanager
def _one_line_errors() -> Iterator[None]:
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


def _quiet_accumulators(spark: Any) -> None:
    """When Java dies, pyspark prints a traceback of its own thread; the action raises the error."""
    with contextlib.suppress(AttributeError):  # private: without it the traceback is printed
        spark.sparkContext._accumulatorServer.handle_error = lambda *_: None  # noqa: SLF001
