"""One rule for each condition: since when it is true, or None.

Each is judged by itself. None has a backlog threshold. `held`: it was true at the last poll; a
signal that moves by chance then needs more to end than to begin.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from exporter.signals.conditions.backlog_trend import MIN_SECONDS, TREND_SECONDS
from exporter.signals.conditions.evidence import Evidence
from exporter.signals.window import SPACING_SECONDS, WINDOW_SECONDS, Point, finished
from exporter.tempo import scaled

LOOP_RATIO = 0.5
STUCK_ACK_WAITS = 10
# Fewer redeliveries may come from a single restart.
_LOOP_MIN_REDELIVERIES = 3
_LOOP_SECONDS = scaled(60.0)
_STALLED_SECONDS = scaled(60.0)
_HELD_LOOP_RATIO = 0.25
# Fewer new messages than this share of max_ack_pending in the window do not end a full one.
_TRICKLE = 0.1
# A cron expression may begin or end at every minute.
_SCHEDULE_SECONDS = 60.0


def losing_since(evidence: Evidence) -> float | None:
    """Messages were lost in the window: surely, or by the upper bound."""
    first, now = evidence.past[0], evidence.now
    return now.at if now.lost > first.lost or now.lost_upper > first.lost_upper else None


def full_since(evidence: Evidence, *, held: bool) -> float | None:
    """At max_ack_pending without a new delivery for longer than ack_wait.

    A consumer that works at its limit gets a new message for each ack.
    """
    if evidence.num_pending == 0 or evidence.paused or not is_at_ack_limit(evidence):
        return None
    since = evidence.no_new_since
    late = evidence.now.at - since > _full_deadline(evidence)
    return since if late or (held and _trickles(evidence)) else None


def is_at_ack_limit(evidence: Evidence) -> bool:
    most = evidence.max_ack_pending
    return most is not None and evidence.num_ack_pending >= most


def _full_deadline(evidence: Evidence) -> float:
    wait = evidence.ack_wait_seconds
    deadline = WINDOW_SECONDS if wait is None else min(wait, WINDOW_SECONDS)
    return max(deadline, evidence.long_jobs_seconds)


def _trickles(evidence: Evidence) -> bool:
    first, now = evidence.past[0], evidence.now
    new = (now.deliveries - now.redeliveries) - (first.deliveries - first.redeliveries)
    return new < _TRICKLE * (evidence.max_ack_pending or 0)


def looping_since(evidence: Evidence, *, held: bool) -> float | None:
    """Mostly redeliveries, each unacked message more than once, since the floor last moved.

    Not after the last message was given up: then nothing is left to deliver."""
    if evidence.num_ack_pending == 0 and evidence.num_pending == 0:
        return None
    past, now = evidence.past, evidence.now
    if now.redeliveries - past[0].redeliveries < _LOOP_MIN_REDELIVERIES:
        return None
    start = _floor_start(past, now)
    first = past[start]
    if now.at - first.at < _LOOP_SECONDS:
        # The floor just moved: it may have been a single message.
        recent = next((p for p in reversed(past) if now.at - p.at >= _LOOP_SECONDS), first)
        return now.at if held and _repeats(recent, now, _HELD_LOOP_RATIO) else None
    enough = _HELD_LOOP_RATIO if held else LOOP_RATIO
    once = not held and now.redeliveries - first.redeliveries <= evidence.num_ack_pending
    if once or not _repeats(first, now, enough):
        return None
    shown = next((p.at for p in past[start:] if p.redeliveries > first.redeliveries), now.at)
    return max(first.at, shown - SPACING_SECONDS)


def finishes_nothing(evidence: Evidence) -> bool:
    """Hardly a delivery ends a message, nor have the last ones: then work has begun again."""
    past, now = evidence.past, evidence.now
    least = evidence.limits.loop_finished_ratio
    return not (_finishes(past[0], now, least) or _finishes(past[-1], now, LOOP_RATIO))


def _finishes(first: Point, now: Point, ratio: float) -> bool:
    deliveries = now.deliveries - first.deliveries
    return deliveries > 0 and finished(first, now) >= ratio * deliveries


def stalled_since(evidence: Evidence, *, held: bool) -> float | None:
    """Messages are pending and clients wait for them, but the server delivers none.

    At max_ack_pending it must not: a standby waits until the work of others is done. `held`: a client
    that pulls now and then has no request waiting at some polls.
    """
    if evidence.num_pending == 0 or evidence.paused or is_at_ack_limit(evidence):
        return None
    since = evidence.undelivered_since
    if not (evidence.reachable or held) or evidence.now.at - since <= _STALLED_SECONDS:
        return None
    return since


def _floor_start(past: Sequence[Point], now: Point) -> int:
    """The first point after which the floor did not move; the newest if it moved since."""
    start = len(past) - 1
    while start > 0 and past[start - 1].floor == now.floor:
        start -= 1
    return start


def _repeats(first: Point, now: Point, ratio: float) -> bool:
    repeats = now.redeliveries - first.redeliveries
    deliveries = now.deliveries - first.deliveries
    return repeats >= _LOOP_MIN_REDELIVERIES and repeats >= ratio * deliveries


def stuck_since(evidence: Evidence) -> float | None:
    """The floor is unchanged for many times ack_wait, and no exhausted message holds it."""
    wait = evidence.ack_wait_seconds
    if wait is None or evidence.floor_exhausted or evidence.num_ack_pending == 0:
        return None
    since = evidence.floor_since
    return since if evidence.now.at - since > _stuck_deadline(evidence, wait) else None


def _stuck_deadline(evidence: Evidence, ack_wait: float) -> float:
    return max(STUCK_ACK_WAITS * ack_wait, evidence.long_jobs_seconds)


def no_worker_since(evidence: Evidence) -> float | None:
    """Messages are pending, and no client pulls, is bound or extends the time of its messages."""
    if evidence.num_pending == 0 or evidence.reachable or evidence.paused:
        return None
    now, since = evidence.now.at, _no_worker_start(evidence)
    if now - since <= _no_worker_deadline(evidence) or evidence.at_work_until >= now:
        return None
    if evidence.schedule is None:
        return since
    # Counts from the last time at which the owner's schedule began to expect a worker.
    expected = evidence.schedule.expected_since(now)
    if expected is None or now - expected <= _no_worker_deadline(evidence):
        return None
    return max(since, expected)


def _no_worker_start(evidence: Evidence) -> float:
    return max(evidence.undelivered_since, evidence.unpulled_since)


def _no_worker_deadline(evidence: Evidence) -> float:
    """A client with unacked messages may still process them until ack_wait ends."""
    deadline = evidence.no_worker_seconds
    if evidence.schedule is not None:
        deadline = max(deadline, evidence.schedule.pause_seconds)
    if evidence.num_ack_pending > 0:
        return max(deadline, evidence.ack_wait_seconds or 0.0, evidence.long_jobs_seconds)
    return deadline


def behind_since(evidence: Evidence) -> float | None:
    """The backlog grows. Between two visits of a worker that the owner declares, it has to."""
    since, schedule = evidence.behind_since, evidence.schedule
    if since is None or schedule is None:
        return since
    expected = schedule.expected_since(evidence.now.at) if schedule.cron else None
    return None if expected is None else max(since, expected)


def is_idle(evidence: Evidence) -> bool:
    return evidence.now.backlog == 0 and evidence.now.deliveries == evidence.past[0].deliveries


def is_young(evidence: Evidence) -> bool:
    """Redeliveries, but a window too short to tell a loop."""
    first, now = evidence.past[0], evidence.now
    return now.at - first.at < _LOOP_SECONDS and now.redeliveries > first.redeliveries


def seconds_to_deadlines(evidence: Evidence) -> list[float]:
    """Seconds until each time-dependent rule may change; below 0: it cannot.

    Nothing else changes the conditions of an unchanged consumer.
    """
    left, wait, now = [], evidence.ack_wait_seconds, evidence.now.at
    if evidence.num_pending > 0 and not evidence.paused:
        if is_at_ack_limit(evidence):
            left.append(_full_deadline(evidence) + evidence.no_new_since - now)
        left.append(_STALLED_SECONDS + evidence.undelivered_since - now)
        if not evidence.reachable:
            left.append(_no_worker_deadline(evidence) + _no_worker_start(evidence) - now)
            if evidence.schedule is not None and evidence.schedule.cron:
                left.append(_SCHEDULE_SECONDS)
    if evidence.num_ack_pending > 0 and wait is not None:
        left.append(_stuck_deadline(evidence, wait) + evidence.floor_since - now)
    if evidence.at_work_until > -inf or evidence.doubted_until > -inf:
        left.append(max(evidence.at_work_until, evidence.doubted_until) - now)
    if evidence.rising_since is not None:
        left.append(MIN_SECONDS + evidence.rising_since - now)
    if evidence.behind_since is not None:
        left.append(TREND_SECONDS + evidence.past[-1].at - now)
    return left
