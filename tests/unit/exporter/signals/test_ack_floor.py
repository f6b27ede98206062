"""Since when the ack floor stands, and whether a message that was given up holds it."""

from __future__ import annotations

from typing import Any

import pytest
from support.exporter.models import NOW, consumer, consumer_config

from exporter.model import Consumer
from exporter.signals.ack_floor import (
    FloorState,
    floor_exhausted,
    next_floor_state,
    stalled_seconds,
    went_back,
    whole_retry_seconds,
)

THREE_TRIES = consumer_config(max_deliver=3, ack_wait_seconds=10.0)  # 30 s until it is given up
ONE_TRY = consumer_config(max_deliver=1, ack_wait_seconds=10.0)


def row(delivered: int, floor: int, unacked: int, **changes: Any) -> Consumer:
    """As many deliveries as messages, so that both kinds of sequence are the same."""
    plain: dict[str, Any] = {
        "delivered_consumer_seq": delivered,
        "delivered_stream_seq": delivered,
        "ack_floor_consumer_seq": floor,
        "ack_floor_stream_seq": floor,
        "num_ack_pending": unacked,
        "stream_first_seq": 1,
        "config": THREE_TRIES,
    }
    return consumer(**{**plain, **changes})


def test_the_floor_stalls_from_the_first_poll() -> None:
    state = next_floor_state(None, row(9, 4, 5), NOW)
    assert stalled_seconds(state, row(9, 4, 5), NOW) == 0.0
    state = next_floor_state(state, row(12, 4, 8), NOW + 60)
    assert stalled_seconds(state, row(12, 4, 8), NOW + 60) == 60.0


@pytest.mark.parametrize("floor", [5, 3])
def test_a_floor_that_moves_forth_or_back_starts_again(floor: int) -> None:
    state = next_floor_state(None, row(9, 4, 5), NOW)
    state = next_floor_state(state, row(9, floor, 4), NOW + 60)
    assert stalled_seconds(state, row(9, floor, 4), NOW + 75) == 15.0


def test_with_nothing_unacked_no_floor_stalls() -> None:
    state = next_floor_state(None, row(9, 9, 0), NOW)
    state = next_floor_state(state, row(9, 9, 0), NOW + 600)
    assert stalled_seconds(state, row(9, 9, 0), NOW + 600) == 0.0
    # The next message does not inherit the time in which there was nothing to ack.
    state = next_floor_state(state, row(10, 9, 1), NOW + 615)
    assert stalled_seconds(state, row(10, 9, 1), NOW + 615) == 15.0


def test_a_clock_that_was_set_back_makes_no_negative_time() -> None:
    state = next_floor_state(None, row(9, 4, 5), NOW)
    assert stalled_seconds(state, row(9, 4, 5), NOW - 60) == 0.0


EXHAUSTED: list[tuple[str, Consumer, float, FloorState, int | None]] = [
    (
        "without max_deliver nothing is ever given up",
        row(20, 4, 5, config=consumer_config()),
        NOW + 999,
        FloorState(4, 4, NOW, 9),
        None,
    ),
    (
        "without acks nothing is ever given up",
        row(20, 20, 0, config=consumer_config(max_deliver=3, ack_policy="none")),
        NOW,
        FloorState(20, 20, NOW, 20),
        None,
    ),
    ("the floor is where the deliveries are", row(9, 9, 0), NOW, FloorState(9, 9, NOW, 9), 0),
    (
        "live work within its retries",
        row(20, 4, 5, num_redelivered=5),
        NOW + 29,
        FloorState(4, 4, NOW, 9),
        0,
    ),
    (
        "longer than all retries, and others went through meanwhile",
        row(20, 4, 5, num_redelivered=1),
        NOW + 31,
        FloorState(4, 4, NOW, 9),
        1,
    ),
    (
        "longer than all retries, but nothing was delivered: no client pulls, none is given up",
        row(9, 4, 5, num_redelivered=1),
        NOW + 31,
        FloorState(4, 4, NOW, 9),
        0,
    ),
    (
        "longer than all retries, but no message ever came again: kept alive by its worker",
        row(20, 4, 5),
        NOW + 31,
        FloorState(4, 4, NOW, 9),
        0,
    ),
    (
        "one delivery only: it never shows among the redelivered ones",
        row(20, 4, 5, config=ONE_TRY),
        NOW + 11,
        FloorState(4, 4, NOW, 9),
        1,
    ),
    (
        "nothing is unacked and still the floor lies behind",
        row(9, 8, 0, num_redelivered=1),
        NOW,
        FloorState(8, 8, NOW, 9),
        1,
    ),
    (
        "nothing is unacked, nothing was redelivered: a new leader that does not know of a purge",
        row(9, 3, 0),
        NOW,
        FloorState(3, 3, NOW, 9),
        0,
    ),
    (
        "all that was ever delivered has left the stream",
        row(9, 3, 0, num_redelivered=1, stream_first_seq=10),
        NOW,
        FloorState(3, 3, NOW, 9),
        0,
    ),
    (
        "an advisory named the message at the floor",
        row(20, 4, 5),
        NOW,
        FloorState(4, 4, NOW, 9, given_up=True),
        1,
    ),
    (
        "advisories are received and none came: it waits out the delay of a nak",
        row(20, 4, 5, num_redelivered=5),
        NOW + 31,
        FloorState(4, 4, NOW, 9, advisories=True),
        0,
    ),
    (
        "one delivery only, advisories are received and none came: its worker keeps it alive",
        row(20, 4, 5, config=ONE_TRY),
        NOW + 11,
        FloorState(4, 4, NOW, 9, advisories=True),
        0,
    ),
    (
        "more redelivered messages than unacked ones: given up before advisories were received",
        row(20, 4, 5, num_redelivered=6),
        NOW + 31,
        FloorState(4, 4, NOW, 9, advisories=True),
        1,
    ),
    (
        "nothing is unacked: given up before advisories were received",
        row(9, 8, 0, num_redelivered=1),
        NOW,
        FloorState(8, 8, NOW, 9, advisories=True),
        1,
    ),
    (
        "advisories are received, and one named the message at the floor",
        row(20, 4, 5),
        NOW,
        FloorState(4, 4, NOW, 9, given_up=True, advisories=True),
        1,
    ),
]


@pytest.mark.parametrize(
    ("seen", "now", "state", "expected"),
    [case[1:] for case in EXHAUSTED],
    ids=[case[0] for case in EXHAUSTED],
)
def test_a_floor_is_held_by_an_exhausted_message(
    seen: Consumer, now: float, state: FloorState, expected: int | None
) -> None:
    assert floor_exhausted(state, seen, now) == expected


def test_an_advisory_is_remembered_while_the_floor_is_unchanged() -> None:
    state = next_floor_state(None, row(9, 4, 5), NOW, {2, 5})
    state = next_floor_state(state, row(9, 4, 5), NOW + 15, {7})
    assert floor_exhausted(state, row(9, 4, 5), NOW + 15) == 1
    state = next_floor_state(state, row(9, 5, 4), NOW + 30, {7})
    assert floor_exhausted(state, row(9, 5, 4), NOW + 30) == 0


def test_whether_advisories_are_received_is_as_of_the_last_poll() -> None:
    seen = row(20, 4, 5, num_redelivered=1)
    state = next_floor_state(None, row(9, 4, 5, num_redelivered=1), NOW)
    for later, advisories, expected in ((31, False, 1), (46, True, 0), (61, False, 1)):
        state = next_floor_state(state, seen, NOW + later, advisories=advisories)
        assert floor_exhausted(state, seen, NOW + later) == expected


def test_an_advisory_about_another_message_shows_nothing_about_the_floor() -> None:
    state = next_floor_state(None, row(9, 4, 5), NOW, {4, 6})
    assert floor_exhausted(state, row(9, 4, 5), NOW) == 0


@pytest.mark.parametrize(
    ("config", "seconds"),
    [
        (consumer_config(), None),
        (consumer_config(max_deliver=1, ack_wait_seconds=10.0), 10.0),
        (consumer_config(max_deliver=3, ack_wait_seconds=10.0), 30.0),
        (consumer_config(max_deliver=4, ack_wait_seconds=2.0, backoff_seconds=(2.0, 6.0)), 20.0),
    ],
)
def test_the_retries_end_after_all_waits(config: Any, seconds: float | None) -> None:
    assert whole_retry_seconds(config) == seconds


def test_a_floor_that_went_back_is_seen_in_either_sequence() -> None:
    before = row(9, 4, 5)
    assert not went_back(before, row(9, 4, 5))
    assert went_back(before, row(9, 3, 6))
    # After a restart 2.9 makes up the one, but not the other.
    assert went_back(before, row(9, 4, 5, ack_floor_stream_seq=2, ack_floor_consumer_seq=8))
