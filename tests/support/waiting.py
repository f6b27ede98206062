"""Waiting for what servers tell by no event: ask again until it holds, or say what was last seen."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

DEADLINE_SECONDS: Final = 60.0
PAUSE_SECONDS: Final = 0.05

T = TypeVar("T")


async def until(
    request: Callable[[], Awaitable[T]], holds: Callable[[T], bool], otherwise: str
) -> T:
    """The first answer for which `holds`; the failure shows the last one that did not."""
    last: T | None = None
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while True:
                last = await request()
                if holds(last):
                    return last
                await asyncio.sleep(PAUSE_SECONDS)
    except TimeoutError:
        raise AssertionError(f"{otherwise}; last seen: {last}") from None
