"""All conditions that hold in a system, the gravest first, and what could not be judged."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

from exporter.pages.status.level import Level
from exporter.signals.results import Signals

MAX_ROWS = 500
_CRITICAL = frozenset(
    {
        "no_leader",
        "losing_messages",
        "full",
        "ack_pending_full",
        "stalled",
        "workers_gone",
        "nothing_finished",
    }
)
# States of work, not faults.
_FINE = frozenset({"long_jobs", "back_pressure"})


@dataclass(frozen=True, slots=True)
class ConditionView:
    kind: str  # consumer, stream or server
    where: str
    word: str
    since_seconds: float

    @property
    def text(self) -> str:
        return self.word.replace("_", " ")

    @property
    def level(self) -> Level:
        if self.word in _FINE:
            return Level.OK
        return Level.CRITICAL if self.word in _CRITICAL else Level.WARNING


@dataclass(frozen=True, slots=True)
class ConditionsView:
    rows: tuple[ConditionView, ...] = ()
    hidden: int = 0
    unjudged: tuple[tuple[str, str, int], ...] = ()  # condition, reason, number of assets


NO_CONDITIONS = ConditionsView()


def conditions_view(signals: Signals, now: float) -> ConditionsView:
    found = list(_all(signals, now))
    rows = heapq.nsmallest(
        MAX_ROWS, found, key=lambda row: (-row.level, -row.since_seconds, row.where)
    )
    unjudged = ((word, reason, number) for (word, reason), number in signals.unjudged.items())
    return ConditionsView(tuple(rows), len(found) - len(rows), tuple(sorted(unjudged)))


def _all(signals: Signals, now: float) -> Iterator[ConditionView]:
    named = [
        *(("server", name, held) for name, held in signals.server_conditions.items()),
        *(("stream", " › ".join(key), held) for key, held in signals.stream_conditions.items()),
        *(
            ("consumer", " › ".join(key), one.conditions)
            for key, one in signals.consumers.items()
            if one.conditions
        ),
    ]
    for kind, where, held in named:
        for word, since in held:
            yield ConditionView(kind, where, word, max(0.0, now - since))
