"""The verdict on a consumer: its gravest condition."""

from __future__ import annotations

from enum import IntEnum

from exporter.signals.conditions.held import Held
from exporter.signals.conditions.words import RATIOS, Condition


class Verdict(IntEnum):
    OK = 0
    IDLE = 1
    PAUSED = 2
    FALLING_BEHIND = 3
    NO_WORKER_PULLS = 4
    ACK_PENDING_FULL = 5
    REDELIVERY_LOOP = 6
    ACK_FLOOR_STUCK = 7
    LOSING_MESSAGES = 8
    NO_LEADER = 9
    STALLED = 10
    LONG_JOBS = 11


_SHARED = {
    Condition.WORKERS_GONE: Verdict.NO_WORKER_PULLS,
    Condition.NOT_BOUND: Verdict.NO_WORKER_PULLS,
    Condition.NOTHING_FINISHED: Verdict.REDELIVERY_LOOP,
}
_OF_CONDITION: dict[str, Verdict] = {
    each: _SHARED.get(each) or Verdict[each.name] for each in Condition if each not in RATIOS
}
# From the least to the most severe; a working consumer outranks an idle one.
_SEVERITY = (
    Verdict.IDLE,
    Verdict.OK,
    Verdict.LONG_JOBS,
    Verdict.PAUSED,
    Verdict.FALLING_BEHIND,
    Verdict.NO_WORKER_PULLS,
    Verdict.ACK_FLOOR_STUCK,
    Verdict.REDELIVERY_LOOP,
    Verdict.STALLED,
    Verdict.ACK_PENDING_FULL,
    Verdict.LOSING_MESSAGES,
    Verdict.NO_LEADER,
)


def worst(*verdicts: int | None) -> int | None:
    """The most severe verdict; None when none is known."""
    known = [one for one in verdicts if one is not None]
    return max(known, key=_SEVERITY.index) if known else None


def verdict(conditions: Held, *, paused: bool, idle: bool) -> Verdict:
    """`conditions`: gravest first. A pause explains all but the lack of a leader."""
    if paused and (not conditions or conditions[0][0] != Condition.NO_LEADER):
        return Verdict.PAUSED
    for word, _ in conditions:
        if word in _OF_CONDITION:
            return _OF_CONDITION[word]
    return Verdict.IDLE if idle else Verdict.OK
