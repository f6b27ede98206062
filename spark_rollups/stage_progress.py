"""The progress of Spark's stages, polled while an action runs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, Final

from spark_rollups.progress import Progress
from spark_rollups.spark_errors import while_java_lives

_POLL_SECONDS: Final = 0.5


class StageProgress:
    """From the status tracker of the driver."""

    def __init__(self, spark: Any) -> None:
        self._tracker = spark.sparkContext.statusTracker()

    @contextlib.contextmanager
    def of(self, title: str, progress: Progress) -> Iterator[None]:
        ended = threading.Event()
        progress.begin(title)
        thread = threading.Thread(target=self._poll, args=(progress, ended), daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            progress.end()

    def _poll(self, progress: Progress, ended: threading.Event) -> None:
        with while_java_lives():  # the action raises its death
            while not ended.wait(_POLL_SECONDS):
                progress.show(*self._tasks())

    def _tasks(self) -> tuple[int, int, int]:
        stages = [self._tracker.getStageInfo(each) for each in self._tracker.getActiveStageIds()]
        known = [stage for stage in stages if stage is not None]
        return (
            sum(stage.numCompletedTasks for stage in known),
            sum(stage.numTasks for stage in known),
            sum(stage.numActiveTasks for stage in known),
        )


class ConnectProgress:
    """From the progress reports of Spark Connect."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark

    @contextlib.contextmanager
    def of(self, title: str, progress: Progress) -> Iterator[None]:
        def report(stages: Any, inflight_tasks: int, **_: Any) -> None:
            done = sum(stage.num_completed_tasks for stage in stages)
            progress.show(done, sum(stage.num_tasks for stage in stages), inflight_tasks)

        progress.begin(title)
        self._spark.registerProgressHandler(report)
        try:
            yield
        finally:
            self._spark.removeProgressHandler(report)
            progress.end()
