"""Why are messages delivered again? Told from what came back for the deliveries of the window."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from exporter.signals.window import Point

# Few messages in a loop: each came again so often within the window, and more others were sent.
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
    first = _beginning(past, now)
    again = now.redeliveries - first.redeliveries
    if again <= 0:
        return None
    if listening and 2 * (now.naks - first.naks) >= again:
        return Cause.REFUSED
    deliveries = now.deliveries - first.deliveries
    few = 0 < _LOOP_TURNS * num_redelivered <= again and num_redelivered < deliveries - again
    if now.acks is None or first.acks is None:
        return Cause.LOOP if listening and few else None
    succeeded = now.acks - first.acks
    if 2 * (deliveries - succeeded) < again:
        # Most of what was sent again was answered too: the answers come, but after ack_wait.
        return Cause.LATE_ACKS if listening else None
    work_goes_on = 2 * succeeded >= deliveries - again
    return Cause.LOOP if few and work_goes_on else Cause.NO_ANSWER


def _beginning(past: Sequence[Point], now: Point) -> Point:
    """Since acks are counted; but where nothing came again since then, advisories alone tell why."""
    if now.acks is not None:
        for point in past:
            if point.acks is not None and point.redeliveries < now.redeliveries:
                return point
    return past[0]
