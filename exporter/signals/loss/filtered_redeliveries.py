"""Exact redeliveries of a filtered consumer, from counts of the messages that match its filter.

A matching message that is not pending was delivered once. Every further delivery is a redelivery.
"""

from __future__ import annotations

from msgspec import Struct

from exporter.signals.events_input import FilteredCount


class CountState(Struct, frozen=True, gc=False):
    count: FilteredCount
    total: int  # redeliveries up to this count
    bounded: float = float("-inf")  # until this time redeliveries may be missing


class Known(Struct, frozen=True, gc=False):
    """delivered.consumer_seq and the redeliveries known at that time."""

    deliveries: int
    redeliveries: int
    time: float = 0.0
    bounded: float = float("-inf")  # when redeliveries may last have been missed


def next_count_state(
    state: CountState | None, count: FilteredCount, before: Known | None, now: Known
) -> CountState | None:
    """The state after `count`; None without a count to compare with."""
    if (state is not None and state.count == count) or count.deliveries > now.deliveries:
        return state  # known already, or newer than this poll: used at the next one
    if state is not None and _comparable(state.count, count):
        repeats = max(0, redelivered(state.count, count))
        return CountState(count, state.total + repeats, state.bounded)
    if state is not None and state.count.deliveries == count.deliveries:
        return CountState(
            count, state.total, state.bounded
        )  # messages were removed, none was delivered
    if count.deliveries == now.deliveries:
        return CountState(count, now.redeliveries, now.bounded)
    if before is not None and count.deliveries >= before.deliveries:
        # Taken while the consumer was busy: start from the previous poll.
        return CountState(count, before.redeliveries, now.time)
    return None


def _comparable(before: FilteredCount, now: FilteredCount) -> bool:
    """False when messages were removed: a removed one would count as a redelivery."""
    return now.removed == before.removed and now.deliveries >= before.deliveries


def redelivered(before: FilteredCount, now: FilteredCount) -> int:
    first_time = (now.matching - now.num_pending) - (before.matching - before.num_pending)
    return now.deliveries - before.deliveries - first_time
