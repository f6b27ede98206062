"""One request for each of many, a few at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from exporter.errors import RequestError
from exporter.sources.request_context import RequestContext

T = TypeVar("T")

# What the next request would meet as well.
_FATAL_REASONS = frozenset({"disconnected", "connection"})


async def run_each(
    items: Sequence[T], request: Callable[[T], Awaitable[None]], at_once: int
) -> list[RequestError]:
    """All are tried, unless one fails in a way that the others would too; gives the failures.

    A denial may be of that one alone, so it ends the rest only where nothing was allowed before:
    each is a line in the server's log.
    """
    waiting = iter(items)
    failures: list[RequestError] = []
    allowed = False

    def is_fatal(failure: RequestError) -> bool:
        return failure.reason in _FATAL_REASONS or (failure.reason == "permission" and not allowed)

    async def worker() -> None:
        nonlocal allowed
        for item in waiting:
            try:
                await request(item)
                allowed = True
            except RequestError as error:
                failures.append(error)
            if any(map(is_fatal, failures)):
                return

    await asyncio.gather(*(worker() for _ in range(min(at_once, len(items)))))
    return failures


async def fan_out(
    items: Sequence[T],
    request: Callable[[T], Awaitable[None]],
    at_once: int,
    context: RequestContext,
    what: str = "",
) -> None:
    """Until the poll's deadline; in the end the first failure is raised, with their number.

    A denial of some is told as `partial`: the request as a whole need not rest for it.
    """

    async def in_time(item: T) -> None:
        if time.monotonic() >= context.deadline:
            raise RequestError("timeout", "the time of this poll was over")
        await request(item)

    failures = await run_each(items, in_time, at_once)
    if failures:
        first = failures[0]
        number = f"{len(failures)} of {len(items)} {what}".rstrip()
        some = len(failures) < len(items) and first.reason == "permission"
        reason = "partial" if some else first.reason
        raise RequestError(reason, f"{number} without answer; first: {first.detail}")
