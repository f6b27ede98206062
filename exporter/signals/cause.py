"""Why are messages delivered again? Told from what came back for the deliveries of the window."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from exporter.signals.window import Point

# So often does each of the messages that are redelivered come again within the window.
_LOOP_TURNS = 3


class Cause(IntEnum):
    LATE_ACKS = 1
    REFUSED = 2
    NO_ANSWER = 3
    LOOP = 4


def redelivery_cause(
    past: Sequence[Point], now: Point, num_redelivered: int, *, listening: bool
) -> Cause | None:
    """None without redeliveries, or when neither acks nor advisories are known.

    `listening`: naks are heard of; without that an answered redelivery may have been either.
    """
    first = past[0]
    if now.acks is not None:
        first = next((point for point in past if point.acks is not None), first)
    again = now.redeliveries - first.redeliveries
    if again <= 0:
        return None
    if listening and 2 * (now.naks - first.naks) >= again:
        return Cause.REFUSED
    few = 0 < _LOOP_TURNS * num_redelivered <= again
    if now.acks is None or first.acks is None:
        return Cause.LOOP if listening and few else None
    return _by_answers(first, now, now.acks - first.acks, few=few, listening=listening)


def _by_answers(
    first: Point, now: Point, answered: int, *, few: bool, listening: bool
) -> Cause | None:
    deliveries = now.deliveries - first.deliveries
    again = now.redeliveries - first.redeliveries
    if 2 * (deliveries - answered) < again:
        # Most of what was sent again was answered too: the answers come, but after ack_wait.
        return Cause.LATE_ACKS if listening else None
    first_time = deliveries - again
    work_goes_on = first_time > 0 and 2 * answered >= first_time
    return Cause.LOOP if work_goes_on and few else Cause.NO_ANSWER
