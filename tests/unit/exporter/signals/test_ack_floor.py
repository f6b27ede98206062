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


def floor(stream_seq: int = 4, **known: Any) -> FloorState:
    return FloorState(stream_seq, stream_seq, NOW - 9999, **known)


EXHAUSTED: list[tuple[str, Consumer, FloorState, int | None]] = [
    (
        "without max_deliver nothing is ever given up",
        row(20, 4, 5, config=consumer_config()),
        floor(),
        None,
    ),
    (
        "without acks nothing is ever given up",
        row(20, 20, 0, config=consumer_config(max_deliver=3, ack_policy="none")),
        floor(20),
        None,
    ),
    ("the floor is where the deliveries are", row(9, 9, 0), floor(9), 0),
    (
        "longer than all retries, and others went through: it may wait out the delay of a nak",
        row(20, 4, 5, num_redelivered=5),
        floor(),
        0,
    ),
    (
        "longer than all retries, but no message ever came again: kept alive by its worker",
        row(20, 4, 5),
        floor(),
        0,
    ),
    (
        "one delivery only, others are unacked: its worker may keep it alive",
        row(20, 4, 5, config=ONE_TRY),
        floor(),
        0,
    ),
    (
        "all that was ever delivered has left the stream",
        row(9, 3, 0, num_redelivered=1, stream_first_seq=10),
        floor(3, ended=9),
        0,
    ),
    (
        "an advisory named the message at the floor",
        row(20, 4, 5),
        floor(given_up=True),
        1,
    ),
    (
        "more redelivered messages than unacked ones: one of them was given up",
        row(20, 4, 5, num_redelivered=6),
        floor(),
        1,
    ),
    (
        "the same, but advisories named later ones: the first waits out the delay of a nak",
        row(20, 4, 5, num_redelivered=6),
        floor(others=1),
        0,
    ),
]


@pytest.mark.parametrize(
    ("seen", "state", "expected"),
    [case[1:] for case in EXHAUSTED],
    ids=[case[0] for case in EXHAUSTED],
)
def test_a_floor_is_held_by_an_exhausted_message(
    seen: Consumer, state: FloorState, expected: int | None
) -> None:
    assert floor_exhausted(state, seen) == expected


def test_messages_given_up_behind_the_floor_do_not_hold_it() -> None:
    """They stay in num_redelivered after an ack has moved the floor past them."""
    seen = row(20, 4, 5, num_redelivered=6)
    assert (floor_exhausted(floor(), seen), floor_exhausted(floor(), seen, passed=1)) == (1, 0)


ENDED: list[tuple[str, list[Consumer], int]] = [
    ("nothing is unacked and still the floor is behind", [row(9, 8, 0, num_redelivered=1)], 1),
    (
        "nothing is unacked, nothing was redelivered: a new leader that does not know of a purge",
        [row(9, 3, 0)],
        0,
    ),
    ("one delivery only: it is not among the redelivered ones", [row(9, 8, 0, config=ONE_TRY)], 1),
    (
        "messages that were delivered later are unacked",
        [row(9, 8, 0, num_redelivered=1), row(14, 8, 5, num_redelivered=1)],
        1,
    ),
    (
        "a leader that stepped down had forgotten unacked messages",
        [row(9, 8, 0, num_redelivered=1), row(9, 8, 1, num_redelivered=1),
         row(12, 8, 1, num_redelivered=1)],
        0,
    ),
    (
        "the floor moved on",
        [row(9, 8, 0, num_redelivered=1), row(14, 10, 4, num_redelivered=1)],
        0,
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("polls", "expected"), [case[1:] for case in ENDED], ids=[case[0] for case in ENDED]
)
def test_without_unacked_messages_only_exhausted_ones_hold_the_floor(
    polls: list[Consumer], expected: int
) -> None:
    state = None
    for number, seen in enumerate(polls):
        state = next_floor_state(state, seen, NOW + 15 * number)
    assert state is not None
    assert floor_exhausted(state, polls[-1]) == expected


def test_an_advisory_is_remembered_while_the_floor_is_unchanged() -> None:
    state = next_floor_state(None, row(9, 4, 5), NOW, {2, 5})
    state = next_floor_state(state, row(9, 4, 5), NOW + 15, {7})
    assert floor_exhausted(state, row(9, 4, 5)) == 1
    state = next_floor_state(state, row(9, 5, 4), NOW + 30, {7})
    assert floor_exhausted(state, row(9, 5, 4)) == 0


def test_an_advisory_about_another_message_shows_nothing_about_the_floor() -> None:
    state = next_floor_state(None, row(9, 4, 5), NOW, {4, 6})
    assert (floor_exhausted(state, row(9, 4, 5)), state.others) == (0, 1)


def test_at_the_first_poll_the_floor_may_be_unchanged_for_longer() -> None:
    state = next_floor_state(None, row(9, 4, 5), NOW, since=NOW - 900)
    assert stalled_seconds(state, row(9, 4, 5), NOW) == 900.0


def test_a_floor_that_went_back_is_seen_in_either_sequence() -> None:
    before = row(9, 4, 5)
    assert not went_back(before, row(9, 4, 5))
    assert went_back(before, row(9, 3, 6))
    # After a restart 2.9 makes up the one, but not the other.
    assert went_back(before, row(9, 4, 5, ack_floor_stream_seq=2, ack_floor_consumer_seq=8))
