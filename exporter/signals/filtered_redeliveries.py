"""Redeliveries of a filtered consumer, exact, from counts of the messages that pass its filter.

What passes and is not pending was sent once; every delivery beyond that was a second one or later.
"""

from __future__ import annotations

from msgspec import Struct

from exporter.signals.events_input import FilteredCount


class CountState(Struct, frozen=True, gc=False):
    count: FilteredCount
    total: int  # redeliveries until then
    bounded: float = float("-inf")  # until this time some of them may have gone uncounted


class Known(Struct, frozen=True, gc=False):
    """delivered.consumer_seq, and the redeliveries known then."""

    deliveries: int
    redeliveries: int
    time: float = 0.0
    bounded: float = float("-inf")  # when redeliveries may last have gone uncounted


def follow(
    track: CountState | None, count: FilteredCount, before: Known | None, now: Known
) -> CountState | None:
    """The track after `count` was heard; None while there is nothing to build upon."""
    if (track is not None and track.count == count) or count.deliveries > now.deliveries:
        return track  # heard already, or newer than this look: its time comes with the next one
    if track is not None and _comparable(track.count, count):
        again = max(0, redelivered(track.count, count))
        return CountState(count, track.total + again, track.bounded)
    if track is not None and track.count.deliveries == count.deliveries:
        return CountState(count, track.total, track.bounded)  # messages left, none was sent
    if count.deliveries == now.deliveries:
        return CountState(count, now.redeliveries, now.bounded)
    if before is not None and count.deliveries >= before.deliveries:
        # Taken while the consumer was busy: start from what was certain before it.
        return CountState(count, before.redeliveries, now.time)
    return None


def _comparable(before: FilteredCount, now: FilteredCount) -> bool:
    """A message that was sent and then removed would look like one that was sent again."""
    return now.removed == before.removed and now.deliveries >= before.deliveries


def redelivered(before: FilteredCount, now: FilteredCount) -> int:
    first_time = (now.matching - now.num_pending) - (before.matching - before.num_pending)
    return now.deliveries - before.deliveries - first_time
