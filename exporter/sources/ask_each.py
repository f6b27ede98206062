"""One question for each of many, a few at a time."""

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


async def each_of(
    items: Sequence[T], ask: Callable[[T], Awaitable[None]], at_once: int
) -> list[QuestionError]:
    """All are tried, unless one fails in a way that the others would too; gives the failures."""
    waiting = iter(items)
    failures: list[QuestionError] = []

    async def worker() -> None:
        for item in waiting:
            try:
                await ask(item)
            except QuestionError as error:
                failures.append(error)
            if any(failure.reason in _HOPELESS for failure in failures):
                return

    await asyncio.gather(*(worker() for _ in range(min(at_once, len(items)))))
    return failures


async def ask_each(
    items: Sequence[T],
    ask: Callable[[T], Awaitable[None]],
    at_once: int,
    asking: Asking,
    what: str = "",
) -> None:
    """Until the poll's deadline; in the end the first failure is raised, with their number."""

    async def in_time(item: T) -> None:
        if time.monotonic() >= asking.deadline:
            raise QuestionError("timeout", "the time of this poll was over")
        await ask(item)

    failures = await each_of(items, in_time, at_once)
    if failures:
        first = failures[0]
        number = f"{len(failures)} of {len(items)} {what}".rstrip()
        raise QuestionError(first.reason, f"{number} without answer; first: {first.detail}")
