"""A consumer that stands still is told of with less work, and of it exactly the same is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support.exporter.models import NOW, at, consumer, consumer_config, stream, stream_config

from exporter.model import Consumer, Snapshot, Stream
from exporter.signals.engine import SignalState
from exporter.signals.events_input import EventsInput, FilteredCount, LagMeasurement
from exporter.signals.redelivery_cause import Cause
from exporter.signals.results import ConsumerSignals
from exporter.signals.state import NEVER
from exporter.signals.verdict import Verdict
from exporter.signals.window import WINDOW_SECONDS

KEY = ("APP", "ORDERS", "worker")
POLL = 15.0
CONFIG = consumer_config(max_deliver=3)
STREAM = stream(
    created=at(NOW - 5000),
    first_seq=1,
    last_seq=20,
    messages=20,
    bytes=1000,
    first_time=at(NOW - 1000),
    last_time=at(NOW - 1),
    config=stream_config(max_age_seconds=3600.0, max_messages=21),
)
# Five messages are unacked and ten wait; one that is never asked for them.
WAITING = consumer(
    created=at(NOW - 4000),
    delivered_consumer_seq=10,
    delivered_stream_seq=10,
    ack_floor_consumer_seq=5,
    ack_floor_stream_seq=5,
    num_ack_pending=5,
    num_pending=10,
    stream_first_seq=1,
    config=CONFIG,
)
NOBODY = EventsInput()


class Books:
    """The same snapshots for two books: one may save work, the other has to look each time."""

    def __init__(self) -> None:
        self.saving, self.thorough = SignalState(), SignalState()
        self.now = NOW
        self.saved = 0

    def look(
        self, row: Consumer, of: Stream = STREAM, heard: EventsInput = NOBODY, after: float = POLL
    ) -> ConsumerSignals:
        self.now += after
        snapshot = Snapshot("nats", self.now, streams=(of,), consumers=(row,))
        for track in self.thorough._consumers.values():
            track.valid_until = NEVER
        for track in self.saving._consumers.values():
            self.saved += self.now < track.valid_until
        told = self.saving.update(snapshot, heard)
        assert told == self.thorough.update(snapshot, heard)
        return told.consumers[KEY]


def test_ages_grow_and_nothing_else_changes() -> None:
    books = Books()
    before = told = books.look(WAITING)
    for _ in range(50):
        before, told = told, books.look(WAITING)
    assert told.verdict is Verdict.ACK_FLOOR_STUCK
    for age in ("lag", "stalled", "floor_stalled"):
        assert getattr(told, age) == pytest.approx(getattr(before, age) + POLL, abs=1e-5)
    assert told.headroom_seconds == pytest.approx((before.headroom_seconds or 0) - POLL, abs=1e-5)
    still = {"lag": 0.0, "stalled": 0.0, "floor_stalled": 0.0, "headroom_seconds": 0.0}
    assert replace(told, **still) == replace(before, **still)


def test_hardly_any_look_is_a_whole_one() -> None:
    books = Books()
    for _ in range(100):
        books.look(WAITING)
    assert books.saved > 90


@pytest.mark.parametrize("poll", [0.5, 5.0, 10.0, 15.0, 30.0, 60.0])
@pytest.mark.parametrize(
    ("row", "verdicts"),
    [
        (WAITING, [Verdict.OK, Verdict.NO_WORKER_PULLS, Verdict.ACK_FLOOR_STUCK]),
        (replace(WAITING, num_waiting=1), [Verdict.OK, Verdict.ACK_FLOOR_STUCK]),
        (
            replace(WAITING, num_waiting=1, config=consumer_config(max_ack_pending=5)),
            [Verdict.OK, Verdict.ACK_PENDING_FULL],
        ),
        (replace(WAITING, num_ack_pending=0), [Verdict.OK, Verdict.NO_WORKER_PULLS]),
        (replace(WAITING, paused=True), [Verdict.PAUSED]),
    ],
)
def test_a_verdict_that_time_alone_changes_comes_when_it_is_due(
    row: Consumer, verdicts: list[Verdict], poll: float
) -> None:
    """`Books` holds the moment to a book that always looks."""
    books = Books()
    seen: list[Verdict] = []
    while books.now < NOW + 400:
        told = books.look(row, after=poll)
        if told.verdict is not None and (not seen or told.verdict != seen[-1]):
            seen.append(Verdict(told.verdict))
    assert seen[-1] is verdicts[-1]
    assert set(seen) <= set(verdicts)


CHANGES: list[tuple[str, Callable[[Books], object]]] = [
    (name, lambda books, fields=fields: books.look(replace(WAITING, **fields)))
    for name, fields in {
        "a delivery": {"delivered_consumer_seq": 11},
        "a move of its position": {"delivered_stream_seq": 11},
        "more that waits": {"num_pending": 11},
        "an ack": {"num_ack_pending": 4},
        "a floor that moves": {"ack_floor_stream_seq": 6},
        "a floor that goes back": {"ack_floor_consumer_seq": 4},
        "a redelivery": {"num_redelivered": 1},
        "a loss": {"stream_first_seq": 12},
        "a pause": {"paused": True},
        "somebody who pulls": {"num_waiting": 1},
        "another configuration": {"config": consumer_config(max_deliver=5)},
        "another leader": {"leader": "n2"},
        "a new life": {"created": at(NOW)},
    }.items()
] + [
    ("a stream that is set back", lambda books: books.look(WAITING, replace(STREAM, last_seq=15))),
    ("a stream that loses one", lambda books: books.look(WAITING, replace(STREAM, messages=19))),
    (
        "a stream that overwrites",
        lambda books: books.look(WAITING, replace(STREAM, config=stream_config(kind="kv"))),
    ),
    ("acks that were counted", lambda books: books.look(WAITING, heard=EventsInput(acks={KEY: 4}))),
    ("a nak that was heard", lambda books: books.look(WAITING, heard=EventsInput(naks={KEY: 1}))),
    (
        "a message given up",
        lambda books: books.look(WAITING, heard=EventsInput(exhausted={KEY: frozenset({6})})),
    ),
    (
        "a reading of the lag",
        lambda books: books.look(
            WAITING, heard=EventsInput(lags={KEY: LagMeasurement(6, 6, NOW - 9)})
        ),
    ),
    (
        "a count of what passes",
        lambda books: books.look(
            WAITING, heard=EventsInput(counts={KEY: FilteredCount(9, 0, 10, 4)})
        ),
    ),
    ("a clock that was set back", lambda books: books.look(WAITING, after=-400.0)),
    ("a window that moved on", lambda books: books.look(WAITING, after=WINDOW_SECONDS)),
]


@pytest.mark.parametrize("change", [case[1] for case in CHANGES], ids=[case[0] for case in CHANGES])
def test_whatever_happens_is_told_at_once(change: Callable[[Books], object]) -> None:
    books = Books()
    for _ in range(40):
        books.look(WAITING)
    change(books)
    for _ in range(30):
        books.look(WAITING)


def test_time_in_which_nothing_waited_is_no_stall() -> None:
    books = Books()
    for _ in range(30):
        assert books.look(replace(WAITING, num_pending=0)).stalled == 0.0
    assert books.look(WAITING).stalled == POLL


def test_time_in_which_nothing_was_unacked_is_no_standstill_of_the_floor() -> None:
    books, finished = Books(), {"ack_floor_consumer_seq": 10, "ack_floor_stream_seq": 10}
    for _ in range(30):
        books.look(replace(WAITING, num_ack_pending=0, **finished))
    one = replace(WAITING, delivered_consumer_seq=11, delivered_stream_seq=11, num_ack_pending=1)
    assert books.look(replace(one, **finished)).floor_stalled == POLL


def test_gaps_that_open_ahead_are_noticed() -> None:
    """The stream has gaps, but the consumer still waits for as many messages as there are ahead."""
    books, gappy = Books(), replace(STREAM, messages=19)
    for _ in range(30):
        assert books.look(WAITING, gappy).redelivery_exact == 1
    assert books.look(WAITING, replace(gappy, last_seq=25, messages=24)).redelivery_exact == 0


def test_what_left_a_stream_with_gaps_leaves_a_doubt_that_is_kept() -> None:
    books, row = Books(), replace(WAITING, num_pending=3)
    for _ in range(30):
        assert books.look(row, replace(STREAM, messages=18)).lost_exact == 0
    books.look(row, replace(STREAM, messages=17))
    assert books.look(replace(row, num_pending=10), replace(STREAM, messages=17)).lost_exact == 0


@pytest.mark.parametrize(
    ("counted", "seconds", "cause"),
    [
        ({"acks": {KEY: 5}}, 60.0, Cause.NO_ACK),
        ({"naks": {KEY: 3}}, 60.0, Cause.NAK),
        ({"naks": {KEY: 3}}, 400.0, None),  # too long ago to be the cause
    ],
)
def test_what_was_counted_while_it_stood_still_tells_why_messages_come_again(
    counted: dict[str, Any], seconds: float, cause: Cause | None
) -> None:
    books, heard = Books(), EventsInput(**counted, listening=frozenset({"APP"}))
    for _ in range(30):
        books.look(WAITING)
    for _ in range(int(seconds // POLL)):
        books.look(WAITING, heard=heard)
    again = replace(WAITING, delivered_consumer_seq=14, num_redelivered=4)
    assert books.look(again, heard=heard).redelivery_cause == cause


NOTHING: dict[str, Any] = {}
ROW_CHANGES = [
    *[NOTHING] * 20,
    {"num_pending": 0}, {"num_pending": 3}, {"num_ack_pending": 0}, {"num_ack_pending": 1000},
    {"num_waiting": 1}, {"num_waiting": 0}, {"paused": True}, {"paused": False},
    {"delivered_consumer_seq": 12}, {"delivered_consumer_seq": 14, "delivered_stream_seq": 12},
    {"ack_floor_consumer_seq": 0}, {"ack_floor_consumer_seq": 12, "ack_floor_stream_seq": 12},
    {"num_redelivered": 2}, {"num_redelivered": 0}, {"stream_first_seq": 4}, {"leader": "n2"},
    {"config": consumer_config(filters=("orders.eu",))}, {"config": CONFIG}, {"up": False},
    {"up": True}, {"created": at(NOW)}, {"config": consumer_config(deliver_policy="new")},
]  # fmt: skip
STREAM_CHANGES = [
    *[NOTHING] * 20,
    {"last_seq": 21, "messages": 21}, {"last_seq": 30, "messages": 21, "first_seq": 10},
    {"messages": 15}, {"last_seq": 18, "messages": 18}, {"up": False}, {"up": True},
    {"first_seq": 21, "messages": 0, "first_time": None, "last_time": None},
    {"config": stream_config(kind="kv")}, {"config": stream_config(max_messages=20)},
    {"created": at(NOW)}, {"leader": "n2"}, {"last_seq": 22, "messages": 17},
]  # fmt: skip
HEARD = [
    *[NOBODY] * 10,
    EventsInput(acks={KEY: 3}), EventsInput(naks={KEY: 1}), EventsInput(exhausted={KEY: frozenset({6})}),
    EventsInput(lags={KEY: LagMeasurement(5, 7, NOW - 50)}), EventsInput(listening=frozenset({"APP"})),
    EventsInput(counts={KEY: FilteredCount(12, 0, 10, 2)}),
]  # fmt: skip
SECONDS = [0.0, 1.0, 9.999, *[15.0] * 8, 30.0, 60.0, 299.9995, 300.0, 900.0, -20.0]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(SECONDS),
            st.sampled_from(ROW_CHANGES),
            st.sampled_from(STREAM_CHANGES),
            st.sampled_from(HEARD),
        ),
        min_size=3,
        max_size=60,
    )
)
@settings(max_examples=200, deadline=None)
def test_less_work_tells_the_same_whatever_the_history(
    history: list[tuple[float, dict[str, Any], dict[str, Any], EventsInput]],
) -> None:
    books, row, of = Books(), WAITING, STREAM
    for seconds, of_row, of_stream, heard in history:
        row, of = replace(row, **of_row), replace(of, **of_stream)
        books.look(row, of, heard, after=seconds)
