"""Waits for a state by polling; a failure shows the last result."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

DEADLINE_SECONDS: Final = 60.0
PAUSE_SECONDS: Final = 0.05

T = TypeVar("T")


async def until(
    request: Callable[[], Awaitable[T]],
    holds: Callable[[T], bool],
    otherwise: str,
    within: float = DEADLINE_SECONDS,
    pause: float = PAUSE_SECONDS,
) -> T:
    """The first result for which `holds` is true; a failure shows the last result."""
    last: T | None = None
    try:
        async with asyncio.timeout(within):
            while True:
                last = await request()
                if holds(last):
                    return last
                await asyncio.sleep(pause)
    except TimeoutError:
        raise AssertionError(f"{otherwise}; last seen: {last}") from None
