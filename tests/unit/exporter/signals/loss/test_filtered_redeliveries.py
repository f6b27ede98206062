"""Exact redeliveries of a filtered consumer, from counts of the messages that pass its filter."""

from __future__ import annotations

from exporter.signals.events_input import FilteredCount
from exporter.signals.loss.filtered_redeliveries import (
    CountState,
    Known,
    next_count_state,
    redelivered,
)


def count(matching: int, deliveries: int, pending: int, removed: int = 0) -> FilteredCount:
    return FilteredCount(matching, removed, deliveries, pending)


def test_deliveries_beyond_the_first_of_each_message_are_repeats() -> None:
    # Ten pass, seven of them were sent; then ten more pass, and eleven more were sent.
    before, now = count(10, 8, 3), count(20, 22, 2)
    assert redelivered(before, now) == 14 - 11


def test_the_first_count_is_a_beginning() -> None:
    assert next_count_state(None, count(10, 8, 3), None, Known(8, 5)) == CountState(
        count(10, 8, 3), 5
    )


def test_the_second_count_makes_the_total_exact() -> None:
    state = CountState(count(10, 8, 3), 5)
    assert next_count_state(state, count(20, 22, 2), Known(8, 5), Known(22, 6)) == CountState(
        count(20, 22, 2), 8
    )


def test_a_count_taken_before_this_poll_starts_from_the_poll_before() -> None:
    # What this poll found may be older or younger than the count: it must not be added twice.
    taken = count(10, 12, 3)
    now = Known(20, 9, time=60.0)
    assert next_count_state(None, taken, Known(8, 5), now) == CountState(taken, 5, bounded=60.0)


def test_a_count_older_than_the_poll_before_is_no_beginning() -> None:
    assert next_count_state(None, count(10, 7, 3), Known(8, 5), Known(20, 9)) is None
    assert next_count_state(None, count(10, 7, 3), None, Known(20, 9)) is None


def test_a_count_newer_than_this_poll_waits_for_the_next() -> None:
    state = CountState(count(10, 8, 3), 5)
    assert next_count_state(state, count(20, 30, 2), Known(8, 5), Known(22, 6)) is state


def test_the_same_count_again_changes_nothing() -> None:
    state = CountState(count(10, 8, 3), 5)
    assert next_count_state(state, count(10, 8, 3), Known(8, 5), Known(8, 5)) is state


def test_where_messages_were_removed_it_begins_again() -> None:
    # A message that was sent and then removed would look like one that was sent again.
    state = CountState(count(10, 8, 3, removed=4), 5)
    fewer = count(6, 8, 3, removed=8)
    assert next_count_state(state, fewer, Known(8, 5), Known(8, 5)) == CountState(fewer, 5)


def test_what_went_uncounted_before_a_beginning_stays_in_doubt() -> None:
    state = CountState(count(10, 8, 3, removed=4), 5, bounded=15.0)
    fewer, now = count(9, 12, 3, removed=8), Known(12, 6, time=60.0, bounded=60.0)
    begun = next_count_state(state, fewer, Known(8, 5), now)
    assert begun == CountState(fewer, 6, bounded=60.0)
    more = count(12, 15, 3, removed=8)
    assert next_count_state(begun, more, now, Known(15, 6, time=120.0)) == CountState(
        more, 6, bounded=60.0
    )


def test_messages_that_left_while_none_was_sent_raise_no_doubt() -> None:
    state = CountState(count(10, 8, 3, removed=4), 5, bounded=15.0)
    fewer = count(6, 8, 3, removed=8)
    now = Known(8, 5, time=60.0, bounded=50.0)
    assert next_count_state(state, fewer, Known(8, 5), now) == CountState(fewer, 5, bounded=15.0)
