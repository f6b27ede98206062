"""Tells when something is not over after a while, and not merely unheard of by a busy event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

# Until the loop has heard everything that was there when the time was up.
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
        """A loop may be late itself: what is over already is told in the turn that has just begun."""
        self._timer = self._loop.call_later(_GRACE, self._late)
