"""A timer for slow syncs that a busy event loop does not trigger."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

# Time for the loop to process the events that were pending at the timeout.
_GRACE: Final = 0.001


class SlowTimer:
    def __init__(self, seconds: float, late: Callable[[], None]) -> None:
        """Calls `late` unless `end` is called before."""
        self._loop = asyncio.get_running_loop()
        self._late = late
        self._timer = self._loop.call_later(seconds, self._recheck)

    def end(self) -> None:
        self._timer.cancel()

    def _recheck(self) -> None:
        """The loop itself may be late: process pending events before the sync counts as slow."""
        self._timer = self._loop.call_later(_GRACE, self._late)
