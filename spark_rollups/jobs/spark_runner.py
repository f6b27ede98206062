"""Runs tasks on Spark: a few jobs with one partition per task, by mapInArrow."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from functools import partial
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]

from spark_rollups.jobs.worker_tasks import run_task
from spark_rollups.session import Session, SparkSettings, open_session
from spark_rollups.spark_errors import spark_failures

_RESULT: Final = "index long, result string"
# For clusters whose executors are not up yet, and for Spark Connect.
_SLOTS_UNKNOWN: Final = 16
# Overlaps the last tasks of a job with the next job.
_JOBS_AT_ONCE: Final = 3
_ROUNDS_A_JOB: Final = 2


class SparkRunner:
    """Starts Spark in the background while the run is planned."""

    def __init__(self, settings: SparkSettings) -> None:
        self._settings = settings
        self._starter = ThreadPoolExecutor(1)
        self._starting: Future[Session] = self._starter.submit(open_session, settings)

    @property
    def slots(self) -> int:
        if self._settings.local and not self._settings.submitted:
            return local_slots(self._settings.master)
        if self._settings.remote:
            return _SLOTS_UNKNOWN
        context = self.session().spark.sparkContext
        return max(int(context.defaultParallelism), _SLOTS_UNKNOWN)

    def run(self, tasks: Sequence[str]) -> Iterator[tuple[int, str]]:
        """An error in one job cancels the others."""
        spark = self.session().spark
        size = max(self.slots * _ROUNDS_A_JOB, 1)
        with ThreadPoolExecutor(_JOBS_AT_ONCE) as threads:
            jobs = [
                threads.submit(_job, spark, tasks[first : first + size], first)
                for first in range(0, len(tasks), size)
            ]
            try:
                for job in as_completed(jobs):
                    yield from job.result()
            except BaseException:
                for job in jobs:
                    job.cancel()
                self._interrupt(spark)
                raise

    def _interrupt(self, spark: Any) -> None:
        """Cancels running tasks, so that the end of the run does not wait for them."""
        if self._settings.remote:
            spark.interruptAll()
        else:
            spark.sparkContext.cancelAllJobs()

    def session(self) -> Session:
        """Waits until Spark has started; raises if it failed."""
        return self._starting.result()

    def close(self) -> None:
        try:
            self.session().close()
        finally:
            self._starter.shutdown()


def local_slots(master: str) -> int:
    """1 for `local`, 3 for `local[3]`, the number of cores for `local[*]`."""
    match = re.fullmatch(r"local(?:\[([\d*]+)(?:,\s*\d+)?\])?", master or "local[*]")
    if match is None or match[1] == "*":
        return os.cpu_count() or 1
    return int(match[1]) if match[1] else 1


def _job(spark: Any, tasks: Sequence[str], first: int) -> list[tuple[int, str]]:
    indexes = spark.range(0, len(tasks), 1, len(tasks))
    with spark_failures():
        results = indexes.mapInArrow(partial(_run_tasks, list(tasks)), _RESULT).collect()
    return [(first + row["index"], row["result"]) for row in results]


def _run_tasks(tasks: list[str], batches: Iterator[Any]) -> Iterator[Any]:
    """Runs in a worker: indexes of tasks in, results out."""
    for batch in batches:
        for index in batch.column("id").to_pylist():
            yield pa.RecordBatch.from_pydict(
                {
                    "index": pa.array([index], pa.int64()),
                    "result": pa.array([run_task(tasks[index])]),
                }
            )
