"""A budget of events a minute for each kind, and a log that writes each kind once a minute."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Hashable
from typing import Final

from streamgauge.serving.logs import event

_MINUTE: Final = 60.0
_MAX_KINDS: Final = 100


class MinuteBudget:
    """At most `events` of each kind in a minute. Further kinds than `max_kinds` get none."""

    def __init__(
        self,
        events: int,
        clock: Callable[[], float] = time.monotonic,
        max_kinds: int = _MAX_KINDS,
    ) -> None:
        self._events = events
        self._clock = clock
        self._max_kinds = max_kinds
        self._minute = 0
        self._spent: Counter[Hashable] = Counter()

    def spend(self, *kinds: Hashable) -> bool:
        """Whether one of the kinds has budget left; counts the event for all of them."""
        minute = int(self._clock() // _MINUTE)
        if minute != self._minute:
            self._minute = minute
            self._spent.clear()
        if not any(map(self._has_budget, kinds)):
            return False
        self._spent.update(kinds)
        return True

    def _has_budget(self, kind: Hashable) -> bool:
        if kind not in self._spent and len(self._spent) >= self._max_kinds:
            return False
        return self._spent[kind] < self._events


class RateLimitedLog:
    """A metric counts every event; the log shows one example of each kind."""

    def __init__(self, logger: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._logger = logger
        self._budget = MinuteBudget(1, clock)

    def log(self, kind: Hashable, level: int, message: str, /, **fields: object) -> None:
        if self._budget.spend(kind):
            event(self._logger, level, message, **fields)
