"""The age of the first unfinished message, from polls of a stream."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.exporter.models import NOW, at, consumer, stream

from exporter.model import Consumer, Stream
from exporter.signals.events_input import LagMeasurement
from exporter.signals.lag import (
    MAX_POINTS,
    StreamTimes,
    first_unfinished,
    is_unfinished,
    measurement_holds,
)


def seen(first: int, first_at: float, last: int, last_at: float) -> Stream:
    return stream(
        first_seq=first,
        last_seq=last,
        messages=last - first + 1,
        first_time=at(first_at),
        last_time=at(last_at),
    )


def noted(*polls: tuple[Stream, float]) -> tuple[StreamTimes, Stream]:
    times = StreamTimes()
    for row, when in polls:
        times.note(row, when)
    return times, polls[-1][0]


def test_the_first_poll_knows_two_times_and_guesses_between() -> None:
    times, now = noted((seen(11, NOW - 100, 111, NOW), NOW))
    assert times.time_of(11, now, NOW) == NOW - 100
    assert times.time_of(111, now, NOW) == NOW
    assert times.time_of(61, now, NOW) == pytest.approx(NOW - 50)
    assert times.time_of(5, now, NOW) == NOW - 100  # it expired: the first one is next


def test_earlier_polls_make_the_guess_better() -> None:
    times, now = noted(
        (seen(1, NOW - 100, 10, NOW - 90), NOW - 90),
        (seen(1, NOW - 100, 90, NOW - 15), NOW - 15),
        (seen(1, NOW - 100, 100, NOW), NOW),
    )
    assert times.time_of(10, now, NOW) == NOW - 90
    assert times.time_of(50, now, NOW) == pytest.approx(NOW - 90 + 75 / 2)
    assert times.time_of(95, now, NOW) == pytest.approx(NOW - 7.5)


def test_a_message_that_ends_a_long_silence_is_not_older_than_the_last_poll() -> None:
    silent = seen(1, NOW - 9000, 10, NOW - 7200)
    times, now = noted(
        (silent, NOW - 7000), (silent, NOW - 15), (seen(1, NOW - 9000, 30, NOW - 1), NOW)
    )
    found = times.time_of(11, now, NOW)
    assert found is not None
    assert NOW - 15 <= found <= NOW - 1


def test_a_message_newer_than_the_poll_of_the_stream_has_no_age() -> None:
    times, now = noted((seen(1, NOW - 9000, 10, NOW - 7200), NOW))
    assert times.time_of(11, now, NOW) == NOW


def test_an_empty_stream_shows_no_time() -> None:
    empty = stream(first_seq=11, last_seq=10)
    times, now = noted((seen(1, NOW - 9, 10, NOW - 1), NOW - 1), (empty, NOW))
    assert times.time_of(10, now, NOW) is None
    assert times.stored_since(NOW - 5, now) == 0


def test_a_stream_that_was_set_back_forgets_its_times() -> None:
    times, now = noted(
        (seen(1, NOW - 100, 500, NOW - 90), NOW - 90), (seen(1, NOW - 10, 9, NOW), NOW)
    )
    assert list(times.seqs) == [9]
    assert times.time_of(5, now, NOW) == pytest.approx(NOW - 5)


def test_the_table_reaches_back_to_the_first_poll_and_stays_small() -> None:
    polls = [(seen(1, NOW, 10 * n, NOW + 15 * n), NOW + 15 * n) for n in range(1, 40 * MAX_POINTS)]
    times, now = noted(*polls)
    assert len(times.seqs) <= MAX_POINTS
    assert times.seqs[0] == 10
    assert times.seqs[-1] == now.last_seq
    for seq in (15, 3333, 12345):
        assert times.time_of(seq, now, NOW) == pytest.approx(NOW + 1.5 * seq, abs=1.0)


def test_stored_within_a_time_is_counted() -> None:
    times, now = noted(
        (seen(1, NOW - 100, 10, NOW - 90), NOW - 90),
        (seen(1, NOW - 100, 10, NOW - 90), NOW - 30),
        (seen(1, NOW - 100, 30, NOW - 10), NOW - 10),
    )
    assert times.stored_since(NOW - 200, now) == 30
    assert times.stored_since(NOW - 60, now) == 20  # nothing came in that silence
    assert times.stored_since(NOW - 20, now) == 10
    assert times.stored_since(NOW - 10, now) == 0
    assert times.stored_since(NOW - 94, now) == 24


@given(
    st.lists(
        st.tuples(st.integers(0, 50), st.floats(0, 100), st.floats(0, 20)), min_size=1, max_size=90
    )
)
def test_a_later_message_is_never_reported_to_be_older(
    steps: list[tuple[int, float, float]],
) -> None:
    times, last, stored, when = StreamTimes(), 1, NOW, NOW
    now = seen(1, NOW, 1, NOW)
    for messages, until_stored, until_poll in steps:
        if messages:
            last, stored = last + messages, when + until_stored
        when = max(when, stored) + until_poll
        now = seen(1, NOW, last, stored)
        times.note(now, when)
    result = [times.time_of(seq, now, when) or 0.0 for seq in range(1, last + 2)]
    rounding = 1e-5  # timestamps come in whole microseconds
    assert all(sooner <= later + rounding for sooner, later in pairwise(result))
    assert result[-2] == pytest.approx(stored)


def row(deliveries: int, seq: int, floor: int, **changes: Any) -> Consumer:
    plain: dict[str, Any] = {
        "delivered_consumer_seq": deliveries,
        "delivered_stream_seq": seq,
        "ack_floor_consumer_seq": floor,
        "ack_floor_stream_seq": floor,
        "stream_first_seq": 1,
    }
    return consumer(**{**plain, **changes})


UNFINISHED: list[tuple[str, Consumer, int, bool, int | None]] = [
    ("caught up", row(9, 9, 9), 9, False, None),
    ("unacked messages count from the floor", row(9, 9, 4, num_ack_pending=3), 0, False, 5),
    ("waiting ones from the position", row(9, 9, 9, num_pending=3), 9, False, 10),
    ("the next ones expired", row(9, 9, 9, num_pending=3, stream_first_seq=40), 9, False, 40),
    (
        "unacked ones expired",
        row(9, 9, 4, num_ack_pending=3, stream_first_seq=8),
        0,
        False,
        8,
    ),
    (
        "behind an abandoned message the youngest are in flight",
        row(99, 99, 4, num_ack_pending=3),
        0,
        True,
        97,
    ),
    (
        "an abandoned message and nothing in flight",
        row(99, 99, 4, num_pending=3),
        99,
        True,
        100,
    ),
    (
        "never acked: a floor of nought is not where it began",
        row(3, 103, 0, num_ack_pending=3),
        0,
        False,
        101,
    ),
    (
        "never acked and some came again: no later than that",
        row(5, 103, 0, num_ack_pending=3),
        0,
        False,
        99,
    ),
    (
        "a filter: up to here it was seen to have nothing to do",
        row(9, 100, 9, ack_floor_stream_seq=100, num_pending=1),
        5000,
        False,
        5001,
    ),
    (
        "a filter: the floor moves only with acks",
        row(10, 6000, 9, ack_floor_stream_seq=100, num_ack_pending=1),
        5000,
        False,
        5001,
    ),
]


@pytest.mark.parametrize(
    ("given_row", "finished", "exhausted", "expected"),
    [case[1:] for case in UNFINISHED],
    ids=[case[0] for case in UNFINISHED],
)
def test_the_first_unfinished_message_is_found(
    given_row: Consumer, finished: int, *, exhausted: bool, expected: int | None
) -> None:
    assert first_unfinished(given_row, finished, floor_exhausted=exhausted) == expected


def test_a_filtered_consumer_that_never_acked_began_where_it_could_have() -> None:
    # Three of a hundred passed its filter: the first may be any of those after its beginning.
    never_acked = row(3, 103, 0, num_ack_pending=3)
    found = [
        first_unfinished(never_acked, finished, floor_exhausted=False, began=began)
        for finished, began in ((0, 0), (0, 40), (60, 40))
    ]
    assert found == [1, 41, 61]


def test_a_measurement_holds_while_its_message_is_the_first() -> None:
    measurement = LagMeasurement(start_seq=10, seq=25, stored=NOW)
    assert measurement_holds(measurement, 10)
    assert measurement_holds(measurement, 25)
    assert not measurement_holds(measurement, 26)
    assert not measurement_holds(measurement, 9)  # acks were forgotten: older ones are open again
    assert not measurement_holds(None, 10)


@pytest.mark.parametrize(
    ("deliveries", "floor", "first", "certain"),
    [
        (22, 23, 48, False),  # the floor of 2.9 stays where the consumer started: 48 may be acked
        (22, 23, 24, True),  # nothing was purged
        (2, 23, 48, True),  # nothing was acked
        (22, 0, 1, True),
        (22, 0, 48, False),
    ],
)
def test_after_a_purge_past_a_floor_that_never_moved_the_first_message_may_be_acked(
    deliveries: int, floor: int, first: int, *, certain: bool
) -> None:
    behind = row(
        deliveries, 60, 0, num_ack_pending=2, ack_floor_stream_seq=floor, stream_first_seq=first
    )
    measurement = LagMeasurement(start_seq=first, seq=first, stored=NOW)
    assert is_unfinished(measurement, first, behind, gapless=False) is certain
