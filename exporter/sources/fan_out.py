"""Concurrent requests, one for each item, with a limit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from exporter.errors import RequestError
from exporter.sources.request_context import RequestContext

T = TypeVar("T")

# Reasons that the next request would fail with as well.
_FATAL_REASONS = frozenset({"disconnected", "connection"})


async def run_each(
    items: Sequence[T], request: Callable[[T], Awaitable[None]], at_once: int
) -> list[RequestError]:
    """Tries all items, unless one fails in a way that the others would too; returns the failures.

    A denial ends the rest only when nothing was allowed before, because it may concern one item.
    Each denial writes a line to the server's log.
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
    """Runs until the poll's deadline; raises the first failure with the number of failures.

    A denial of some items has the reason `partial`, so that the whole request is not skipped.
    """

    async def in_time(item: T) -> None:
        if time.monotonic() >= context.deadline:
            raise RequestError("timeout", "the deadline of the poll has passed")
        await request(item)

    failures = await run_each(items, in_time, at_once)
    if failures:
        first = failures[0]
        number = f"{len(failures)} of {len(items)} {what}".rstrip()
        some = len(failures) < len(items) and first.reason == "permission"
        reason = "partial" if some else first.reason
        raise RequestError(reason, f"{number} failed; first: {first.detail}")
