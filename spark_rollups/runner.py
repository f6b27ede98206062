"""The protocol of task runners, and a runner that starts on first use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Protocol


class Runner(Protocol):
    """Runs tasks by `jobs.worker_tasks.run_task`, in parallel if possible."""

    @property
    def slots(self) -> int:
        """How many tasks run at the same time."""

    def run(self, tasks: Sequence[str]) -> Iterator[tuple[int, str]]:
        """The index and the result of each task, as they complete."""


class LazyRunner:
    """Starts Spark only if there is work."""

    def __init__(self, start: Callable[[], Runner]) -> None:
        self._start = start

    def begin(self) -> None:
        """Starts the runner in the background."""
        self._runner  # noqa: B018

    @cached_property
    def _runner(self) -> Runner:
        return self._start()

    @property
    def slots(self) -> int:
        return self._runner.slots

    def run(self, tasks: Sequence[str]) -> Iterator[tuple[int, str]]:
        return self._runner.run(tasks)
