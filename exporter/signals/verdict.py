"""The verdict on a consumer: its gravest condition."""

from __future__ import annotations

from enum import IntEnum

from exporter.signals.conditions.held import Held
from exporter.signals.conditions.words import Condition


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
    LONG_JOBS = 10


_OF_CONDITION: dict[str, Verdict] = {
    each: Verdict.NO_WORKER_PULLS if each is Condition.NOT_BOUND else Verdict[each.name]
    for each in Condition
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
    if conditions:
        return _OF_CONDITION[conditions[0][0]]
    return Verdict.IDLE if idle else Verdict.OK
