"""Messages wait and none is delivered, or no new one."""

from __future__ import annotations

from typing import Any

import pytest
from support.exporter.models import NOW, consumer

from exporter.model import Consumer
from exporter.signals.delivery_stall import (
    DeliveryState,
    next_delivery_state,
    no_worker_deadline,
    stalled_seconds,
)


def row(deliveries: int, seq: int, pending: int, **changes: Any) -> Consumer:
    return consumer(
        delivered_consumer_seq=deliveries,
        delivered_stream_seq=seq,
        num_pending=pending,
        **changes,
    )


def followed(*polls: tuple[Consumer, float]) -> DeliveryState:
    state = None
    for seen, when in polls:
        state = next_delivery_state(state, seen, when)
    assert state is not None
    return state


def test_time_counts_while_messages_wait_and_none_is_delivered() -> None:
    state = followed((row(5, 5, 9), NOW), (row(5, 5, 12), NOW + 15), (row(5, 5, 20), NOW + 30))
    assert stalled_seconds(state, row(5, 5, 20), NOW + 30) == 30.0


def test_a_delivery_ends_the_stall() -> None:
    state = followed((row(5, 5, 9), NOW), (row(6, 6, 12), NOW + 15))
    assert stalled_seconds(state, row(6, 6, 12), NOW + 15) == 0.0


def test_caught_up_or_paused_is_no_stall() -> None:
    idle, paused = row(5, 5, 0), row(5, 5, 9, paused=True)
    state = followed((row(5, 5, 9), NOW), (idle, NOW + 600))
    assert stalled_seconds(state, idle, NOW + 600) == 0.0
    state = followed((row(5, 5, 9), NOW), (paused, NOW + 600))
    assert stalled_seconds(state, paused, NOW + 600) == 0.0
    # What waits afterwards has not waited since before.
    state = next_delivery_state(state, row(5, 5, 9), NOW + 615)
    assert stalled_seconds(state, row(5, 5, 9), NOW + 615) == 15.0


def test_repeats_are_deliveries_but_nothing_new() -> None:
    state = followed((row(5, 5, 9), NOW), (row(9, 5, 9), NOW + 60))
    assert (state.since, state.new_since) == (NOW + 60, NOW)


def test_at_the_first_poll_a_stall_may_be_older() -> None:
    state = next_delivery_state(None, row(5, 5, 9), NOW, since=NOW - 700)
    assert (state.since, state.new_since, state.pulled) == (NOW - 700,) * 3
    pulled = next_delivery_state(None, row(5, 5, 9, num_waiting=1), NOW, since=NOW - 700)
    assert (pulled.since, pulled.pulled) == (NOW - 700, NOW)


def stalls(*seconds: float, deliveries: int = 9) -> DeliveryState:
    return DeliveryState(deliveries, 9, NOW, NOW, NOW, seconds)


@pytest.mark.parametrize(
    ("state", "seconds"),
    [
        (stalls(deliveries=0), 10.0),  # never pulled
        (stalls(), 60.0),  # pulled before, at unknown intervals
        (stalls(15.0), 60.0),
        (stalls(100.0), 300.0),
        (stalls(1.0, 2.0), 10.0),
        (stalls(15.0, 30.0, 30.0, 15.0), 90.0),
        (stalls(15.0, 15.0, 290.0, 15.0), 45.0),  # a single outage
        (stalls(4200.0, 4200.0, 4200.0, 4200.0), 12_600.0),  # never more
    ],
)
def test_no_worker_pulls_after_several_usual_stalls(state: DeliveryState, seconds: float) -> None:
    assert no_worker_deadline(state) == seconds


def test_stalls_that_a_delivery_ends_are_kept() -> None:
    state = followed(
        (row(5, 5, 9), NOW),
        (row(5, 5, 12), NOW + 15),
        (row(8, 8, 9), NOW + 30),
        (row(8, 8, 0), NOW + 45),  # purged: no delivery
        (row(8, 8, 4), NOW + 60),
        (row(12, 12, 0), NOW + 75),  # all of them at once
        (row(12, 12, 3), NOW + 600),
        (row(12, 12, 6, paused=True), NOW + 615),
        (row(13, 13, 6), NOW + 635),
        (row(13, 13, 9), NOW + 650),
        (row(14, 14, 9), NOW + 4836),  # an outage
    )
    assert state.stalls == (30.0, 30.0, 20.0)
    for number in range(1, 5):
        state = next_delivery_state(state, row(14 + number, 14 + number, 9), NOW + 4836 + number)
    assert state.stalls == (1.0, 1.0, 1.0, 1.0)


def test_a_pull_request_that_waits_shows_a_worker() -> None:
    state = followed(
        (row(5, 5, 9), NOW),
        (row(5, 5, 9, num_waiting=1), NOW + 15),
        (row(5, 5, 9), NOW + 30),
    )
    assert (stalled_seconds(state, row(5, 5, 9), NOW + 30), state.since) == (30.0, NOW)
    assert state.pulled == NOW + 15
    assert next_delivery_state(state, row(6, 6, 9), NOW + 40).stalls == (25.0,)


def test_one_long_wait_is_believed_for_a_quarter_of_an_hour() -> None:
    """It may have been an outage: the next one must not stay unnoticed for three hours."""
    state = followed((row(5, 5, 9), NOW), (row(6, 6, 9), NOW + 3600))
    assert no_worker_deadline(state) == 900.0
    state = next_delivery_state(state, row(7, 7, 9), NOW + 7200)
    assert no_worker_deadline(state) == 10_800.0
