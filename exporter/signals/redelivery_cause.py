"""Cause of redeliveries, from the acks and naks of the window."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from exporter.signals.window import Point

# A loop: few messages, each redelivered this often, while more others were delivered.
_LOOP_REPEATS = 3


class Cause(IntEnum):
    LATE_ACKS = 1
    NAK = 2
    NO_ACK = 3
    LOOP = 4


def redelivery_cause(
    past: Sequence[Point], now: Point, num_redelivered: int, *, listening: bool
) -> Cause | None:
    """None without redeliveries, or when neither acks nor advisories are known.

    `listening`: nak advisories are received. Without them a nak counts like an ack.
    """
    first = _first_point(past, now)
    repeats = now.redeliveries - first.redeliveries
    if repeats <= 0:
        return None
    if listening and 2 * (now.naks - first.naks) >= repeats:
        return Cause.NAK
    deliveries = now.deliveries - first.deliveries
    few = 0 < _LOOP_REPEATS * num_redelivered <= repeats and num_redelivered < deliveries - repeats
    if now.acks is None or first.acks is None:
        return Cause.LOOP if listening and few else None
    succeeded = now.acks - first.acks
    if 2 * (deliveries - succeeded) < repeats:
        # Most redeliveries were acked too: the acks arrive after ack_wait.
        return Cause.LATE_ACKS if listening else None
    work_goes_on = 2 * succeeded >= deliveries - repeats
    return Cause.LOOP if few and work_goes_on else Cause.NO_ACK


def _first_point(past: Sequence[Point], now: Point) -> Point:
    """First point with ack counts and later redeliveries, else the oldest point."""
    if now.acks is not None:
        for point in past:
            if point.acks is not None and point.redeliveries < now.redeliveries:
                return point
    return past[0]
