"""One word for the state of a consumer: the first rule that holds, worst first.

In the manner of Burrow's evaluator: no backlog threshold, only what the recent past shows.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from enum import IntEnum

from msgspec import Struct

from exporter.signals.window import WINDOW_SECONDS, Point

LOOP_RATIO = 0.5
STUCK_ACK_WAITS = 10
# Fewer could be the bad luck of a single restart.
_LOOP_LEAST = 3
_LOOP_SECONDS = 60.0
# A trend needs most of the window: backlogs rise by chance from one look to the next.
_TREND_SECONDS = 0.8 * WINDOW_SECONDS
_TREND_POINTS = 5
# Between two fetches a healthy client asks for nothing, but not for this long.
_ABSENT_SECONDS = 10.0


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


# From the least to the most pressing; one that works outweighs one that has nothing to do.
_PRESSING = (
    Verdict.IDLE,
    Verdict.OK,
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
    """None when none of them is known."""
    known = [one for one in verdicts if one is not None]
    return max(known, key=_PRESSING.index) if known else None


class Evidence(Struct, frozen=True, gc=False):
    """What the verdict on a consumer with a leader is drawn from."""

    paused: bool
    reachable: bool  # a pull waits, or a push consumer is bound
    num_pending: int
    num_ack_pending: int
    max_ack_pending: int | None
    ack_wait_seconds: float | None
    stalled_seconds: float  # without any delivery while messages wait
    no_new_seconds: float  # without a first delivery while messages wait
    floor_stalled_seconds: float
    floor_exhausted: bool
    past: Sequence[Point]  # oldest first
    now: Point


def verdict(evidence: Evidence) -> Verdict:
    """The order is the meaning: a paused consumer also stalls, a losing one also falls behind, and
    the first of them says what to do."""
    if evidence.paused:
        return Verdict.PAUSED
    if is_losing(evidence):
        return Verdict.LOSING_MESSAGES
    if is_full(evidence):
        return Verdict.ACK_PENDING_FULL
    if is_looping(evidence):
        return Verdict.REDELIVERY_LOOP
    if is_floor_stuck(evidence):
        return Verdict.ACK_FLOOR_STUCK
    if is_deserted(evidence):
        return Verdict.NO_WORKER_PULLS
    if is_falling_behind(evidence):
        return Verdict.FALLING_BEHIND
    return Verdict.IDLE if is_idle(evidence) else Verdict.OK


def is_losing(evidence: Evidence) -> bool:
    return evidence.now.lost > evidence.past[0].lost


def is_full(evidence: Evidence) -> bool:
    """No room for a new message for longer than an answer may take; one that merely works at its
    limit gets a new message for each that it finishes."""
    if evidence.num_pending == 0 or not _has_no_room(evidence):
        return False
    return evidence.no_new_seconds > _patience_when_full(evidence.ack_wait_seconds)


def _has_no_room(evidence: Evidence) -> bool:
    most = evidence.max_ack_pending
    return most is not None and evidence.num_ack_pending >= most


def _patience_when_full(ack_wait: float | None) -> float:
    return WINDOW_SECONDS if ack_wait is None else min(ack_wait, WINDOW_SECONDS)


def is_looping(evidence: Evidence) -> bool:
    """Mostly repeats, each unfinished message more than once, and nothing gets finished."""
    first, now = evidence.past[0], evidence.now
    again = now.redeliveries - first.redeliveries
    return (
        again >= _LOOP_LEAST
        and again > evidence.num_ack_pending
        and again >= LOOP_RATIO * (now.deliveries - first.deliveries)
        and first.floor == now.floor
        and now.at - first.at >= _LOOP_SECONDS
    )


def is_floor_stuck(evidence: Evidence) -> bool:
    wait = evidence.ack_wait_seconds
    if wait is None or evidence.floor_exhausted:
        return False
    return evidence.floor_stalled_seconds > STUCK_ACK_WAITS * wait


def is_deserted(evidence: Evidence) -> bool:
    """Messages wait and nobody asks for them. Whoever holds unacked messages may still be at work
    on them, until ack_wait is over."""
    if evidence.num_pending == 0 or evidence.reachable:
        return False
    return evidence.stalled_seconds > _patience_when_absent(evidence)


def _patience_when_absent(evidence: Evidence) -> float:
    if evidence.num_ack_pending > 0:
        return max(_ABSENT_SECONDS, evidence.ack_wait_seconds or 0.0)
    return _ABSENT_SECONDS


def is_falling_behind(evidence: Evidence) -> bool:
    """The backlog grew in both halves of the past, never fell and was never worked off."""
    past, now = evidence.past, evidence.now
    first, middle = past[0], past[len(past) // 2]
    if len(past) < _TREND_POINTS or now.at - first.at < _TREND_SECONDS:
        return False
    if not 0 < first.backlog < middle.backlog < now.backlog:
        return False
    rising = all(a.backlog <= b.backlog for a, b in itertools.pairwise(past))
    return rising and past[-1].backlog <= now.backlog


def is_idle(evidence: Evidence) -> bool:
    return evidence.now.backlog == 0 and evidence.now.deliveries == evidence.past[0].deliveries


def patience_left(evidence: Evidence) -> list[float]:
    """How many seconds each rule that waits for time to pass has still to wait; below 0: none.

    Nothing else can change the verdict on a consumer that stands still.
    """
    left, wait = [], evidence.ack_wait_seconds
    if evidence.num_pending > 0 and not evidence.paused:
        if _has_no_room(evidence):
            left.append(_patience_when_full(wait) - evidence.no_new_seconds)
        if not evidence.reachable:
            left.append(_patience_when_absent(evidence) - evidence.stalled_seconds)
    if evidence.num_ack_pending > 0 and wait is not None:
        left.append(STUCK_ACK_WAITS * wait - evidence.floor_stalled_seconds)
    passed = evidence.now.at - evidence.past[0].at
    if evidence.now.redeliveries > evidence.past[0].redeliveries:
        left.append(_LOOP_SECONDS - passed)
    if len(evidence.past) >= _TREND_POINTS:
        left.append(_TREND_SECONDS - passed)
    return left
