"""Ends tasks that wait in a library."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from itertools import count
from typing import Any, Final

_PAUSE_SECONDS: Final = 0.2


async def cancel(
    tasks: Iterable[asyncio.Task[Any]], pause: float = _PAUSE_SECONDS, times: int | None = None
) -> set[asyncio.Task[Any]]:
    """Until all have ended, or so many times; the tasks that are left.

    In Python 3.11 a wait with a timeout swallows a cancellation that arrives together with its result.
    """
    left = {task for task in tasks if not task.done()}
    for number in count():
        if not left or number == times:
            break
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=pause)
    return left
