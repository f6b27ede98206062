"""One question for each of many, a few at a time and only until the poll's deadline."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from exporter.errors import QuestionError
from exporter.sources.asking import Asking

T = TypeVar("T")

# What the next question would meet as well; a denied one is a line in the server's log each time.
_HOPELESS = frozenset({"permission", "disconnected", "connection"})


async def ask_each(
    items: Sequence[T], ask: Callable[[T], Awaitable[None]], at_once: int, asking: Asking
) -> None:
    """All are tried; then the first failure is raised, with their number."""
    waiting = iter(items)
    failures: list[QuestionError] = []

    async def worker() -> None:
        for item in waiting:
            try:
                _check_deadline(asking)
                await ask(item)
            except QuestionError as error:
                failures.append(error)
            if any(failure.reason in _HOPELESS for failure in failures):
                return

    await asyncio.gather(*(worker() for _ in range(min(at_once, len(items)))))
    if failures:
        first = failures[0]
        detail = f"{len(failures)} of {len(items)} without answer; first: {first.detail}"
        raise QuestionError(first.reason, detail)


def _check_deadline(asking: Asking) -> None:
    if time.monotonic() >= asking.deadline:
        raise QuestionError("timeout", "the time of this poll was over")
