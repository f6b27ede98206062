"""Who does tasks: what every runner promises, and one that starts when it is first asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Protocol


class Runner(Protocol):
    """Does tasks by `tasks.do_task`, many at once where it can."""

    @property
    def slots(self) -> int:
        """How many tasks run at the same time."""

    def run(self, tasks: Sequence[str]) -> Iterator[tuple[int, str]]:
        """The place of each task in the list and its answer, as they come."""


class LazyRunner:
    """Where nothing has to be done, Spark is not started."""

    def __init__(self, start: Callable[[], Runner]) -> None:
        self._start = start

    def begin(self) -> None:
        """Work is certain: what starts in the background may start now."""
        self._runner  # noqa: B018

    @cached_property
    def _runner(self) -> Runner:
        return self._start()

    @property
    def slots(self) -> int:
        return self._runner.slots

    def run(self, tasks: Sequence[str]) -> Iterator[tuple[int, str]]:
        return self._runner.run(tasks)
