"""The verdict on a consumer: the first rule that holds.

Like Burrow's evaluator it uses no backlog threshold, only the recent window.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from enum import IntEnum
from math import inf

from msgspec import Struct

from exporter.signals.delivery_stall import NO_WORKER_SECONDS
from exporter.signals.window import WINDOW_SECONDS, Point

LOOP_RATIO = 0.5
STUCK_ACK_WAITS = 10
# Fewer redeliveries may come from a single restart.
_LOOP_MIN_REDELIVERIES = 3
_LOOP_SECONDS = 60.0
# A trend needs most of the window: a backlog can rise by chance between two polls.
_TREND_SECONDS = 0.8 * WINDOW_SECONDS
_TREND_POINTS = 5


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


# From the least to the most severe; a working consumer outranks an idle one.
_SEVERITY = (
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
    """The most severe verdict; None when none is known."""
    known = [one for one in verdicts if one is not None]
    return max(known, key=_SEVERITY.index) if known else None


class Evidence(Struct, frozen=True, gc=False):
    """Input of the verdict on a consumer that has a leader."""

    paused: bool
    reachable: bool  # a pull request waits, or a push consumer is bound
    num_pending: int
    num_ack_pending: int
    max_ack_pending: int | None
    ack_wait_seconds: float | None
    stalled_seconds: float  # without any delivery while messages are pending
    no_new_seconds: float  # without a first delivery while messages are pending
    floor_stalled_seconds: float
    floor_exhausted: bool
    past: Sequence[Point]  # oldest first
    now: Point
    no_worker_seconds: float = NO_WORKER_SECONDS  # several times the usual time between pulls
    without_pull_seconds: float = inf  # without a waiting pull request


def verdict(evidence: Evidence) -> Verdict:
    """The order of the rules matters: a paused consumer also stalls, a losing one falls behind."""
    if evidence.paused:
        return Verdict.PAUSED
    if is_losing(evidence):
        return Verdict.LOSING_MESSAGES
    if is_ack_pending_full(evidence):
        return Verdict.ACK_PENDING_FULL
    if is_looping(evidence):
        return Verdict.REDELIVERY_LOOP
    if is_floor_stuck(evidence):
        return Verdict.ACK_FLOOR_STUCK
    if has_no_worker(evidence):
        return Verdict.NO_WORKER_PULLS
    if is_falling_behind(evidence):
        return Verdict.FALLING_BEHIND
    return Verdict.IDLE if is_idle(evidence) else Verdict.OK


def is_losing(evidence: Evidence) -> bool:
    return evidence.now.lost > evidence.past[0].lost


def is_ack_pending_full(evidence: Evidence) -> bool:
    """At max_ack_pending without a new delivery for longer than ack_wait.

    A consumer that works at its limit gets a new message for each ack.
    """
    if evidence.num_pending == 0 or not _is_at_ack_limit(evidence):
        return False
    return evidence.no_new_seconds > _full_deadline(evidence.ack_wait_seconds)


def _is_at_ack_limit(evidence: Evidence) -> bool:
    most = evidence.max_ack_pending
    return most is not None and evidence.num_ack_pending >= most


def _full_deadline(ack_wait: float | None) -> float:
    return WINDOW_SECONDS if ack_wait is None else min(ack_wait, WINDOW_SECONDS)


def is_looping(evidence: Evidence) -> bool:
    """Mostly redeliveries, each unacked message more than once, and no ack-floor progress."""
    first, now = evidence.past[0], evidence.now
    repeats = now.redeliveries - first.redeliveries
    return (
        repeats >= _LOOP_MIN_REDELIVERIES
        and repeats > evidence.num_ack_pending
        and repeats >= LOOP_RATIO * (now.deliveries - first.deliveries)
        and first.floor == now.floor
        and now.at - first.at >= _LOOP_SECONDS
    )


def is_floor_stuck(evidence: Evidence) -> bool:
    wait = evidence.ack_wait_seconds
    if wait is None or evidence.floor_exhausted:
        return False
    return evidence.floor_stalled_seconds > STUCK_ACK_WAITS * wait


def has_no_worker(evidence: Evidence) -> bool:
    """Messages are pending and no client pulls or is bound.

    A client with unacked messages may still process them until ack_wait ends.
    """
    if evidence.num_pending == 0 or evidence.reachable:
        return False
    return _without_worker_seconds(evidence) > _no_worker_deadline(evidence)


def _without_worker_seconds(evidence: Evidence) -> float:
    return min(evidence.stalled_seconds, evidence.without_pull_seconds)


def _no_worker_deadline(evidence: Evidence) -> float:
    if evidence.num_ack_pending > 0:
        return max(evidence.no_worker_seconds, evidence.ack_wait_seconds or 0.0)
    return evidence.no_worker_seconds


def is_falling_behind(evidence: Evidence) -> bool:
    """The backlog grew in both halves of the window and never fell."""
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


def seconds_to_deadlines(evidence: Evidence) -> list[float]:
    """Seconds until each time-dependent rule may change; below 0: it cannot.

    Nothing else changes the verdict on an unchanged consumer.
    """
    left, wait = [], evidence.ack_wait_seconds
    if evidence.num_pending > 0 and not evidence.paused:
        if _is_at_ack_limit(evidence):
            left.append(_full_deadline(wait) - evidence.no_new_seconds)
        if not evidence.reachable:
            left.append(_no_worker_deadline(evidence) - _without_worker_seconds(evidence))
    if evidence.num_ack_pending > 0 and wait is not None:
        left.append(STUCK_ACK_WAITS * wait - evidence.floor_stalled_seconds)
    passed = evidence.now.at - evidence.past[0].at
    if evidence.now.redeliveries > evidence.past[0].redeliveries:
        left.append(_LOOP_SECONDS - passed)
    if len(evidence.past) >= _TREND_POINTS:
        left.append(_TREND_SECONDS - passed)
    return left
