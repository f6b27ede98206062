"""An unchanged consumer takes less work and gives exactly the same results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from support.examples import examples
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
# Five messages are unacked and ten are pending.
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
NO_WORKER = EventsInput()


class TwoStates:
    """The same snapshots for two states: one may save work, the other evaluates every poll in full."""

    def __init__(self) -> None:
        self.saving, self.thorough = SignalState(), SignalState()
        self.now = NOW
        self.saved = 0

    def poll(
        self,
        row: Consumer,
        of: Stream = STREAM,
        events: EventsInput = NO_WORKER,
        after: float = POLL,
    ) -> ConsumerSignals:
        self.now += after
        snapshot = Snapshot("nats", self.now, streams=(of,), consumers=(row,))
        for state in self.thorough._consumers.values():
            state.valid_until = NEVER
        for state in self.saving._consumers.values():
            self.saved += self.now < state.valid_until
        result = self.saving.update(snapshot, events)
        with patch("exporter.signals.conditions.poll.is_surely_well", return_value=False):
            assert result == self.thorough.update(snapshot, events)
        return result.consumers[KEY]


def test_ages_grow_and_nothing_else_changes() -> None:
    states = TwoStates()
    before = result = states.poll(WAITING)
    for _ in range(50):
        before, result = result, states.poll(WAITING)
    assert result.verdict is Verdict.ACK_FLOOR_STUCK
    for age in ("lag", "stalled", "floor_stalled"):
        assert getattr(result, age) == pytest.approx(getattr(before, age) + POLL, abs=1e-5)
    assert result.headroom_seconds == pytest.approx((before.headroom_seconds or 0) - POLL, abs=1e-5)
    still = {"lag": 0.0, "stalled": 0.0, "floor_stalled": 0.0, "headroom_seconds": 0.0}
    assert replace(result, **still) == replace(before, **still)


def test_hardly_any_poll_is_a_full_evaluation() -> None:
    states = TwoStates()
    for _ in range(100):
        states.poll(WAITING)
    assert states.saved > 90


@pytest.mark.parametrize("poll", [0.5, 5.0, 10.0, 15.0, 30.0, 60.0])
@pytest.mark.parametrize(
    ("row", "verdicts"),
    [
        (WAITING, [Verdict.OK, Verdict.NO_WORKER_PULLS, Verdict.ACK_FLOOR_STUCK]),
        (replace(WAITING, num_waiting=1), [Verdict.OK, Verdict.STALLED]),
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
    """`TwoStates` compares each poll with a full evaluation."""
    states = TwoStates()
    seen: list[Verdict] = []
    while states.now < NOW + 400:
        result = states.poll(row, after=poll)
        if result.verdict is not None and (not seen or result.verdict != seen[-1]):
            seen.append(Verdict(result.verdict))
    assert seen[-1] is verdicts[-1]
    assert set(seen) <= set(verdicts)


CHANGES: list[tuple[str, Callable[[TwoStates], object]]] = [
    (name, lambda states, fields=fields: states.poll(replace(WAITING, **fields)))
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
        "a client that pulls": {"num_waiting": 1},
        "another configuration": {"config": consumer_config(max_deliver=5)},
        "another leader": {"leader": "n2"},
        "a new life": {"created": at(NOW)},
        "an in-progress ack": {"last_delivery": at(NOW)},
    }.items()
] + [
    (
        "a stream that is set back",
        lambda states: states.poll(WAITING, replace(STREAM, last_seq=15)),
    ),
    ("a stream that loses one", lambda states: states.poll(WAITING, replace(STREAM, messages=19))),
    (
        "a stream that overwrites",
        lambda states: states.poll(WAITING, replace(STREAM, config=stream_config(kind="kv"))),
    ),
    (
        "acks that were counted",
        lambda states: states.poll(WAITING, events=EventsInput(acks={KEY: 4})),
    ),
    (
        "a nak that was received",
        lambda states: states.poll(WAITING, events=EventsInput(naks={KEY: 1})),
    ),
    (
        "a message given up",
        lambda states: states.poll(WAITING, events=EventsInput(exhausted={KEY: frozenset({6})})),
    ),
    (
        "a measurement of the lag",
        lambda states: states.poll(
            WAITING, events=EventsInput(lags={KEY: LagMeasurement(6, 6, NOW - 9)})
        ),
    ),
    (
        "a count of what passes",
        lambda states: states.poll(
            WAITING, events=EventsInput(counts={KEY: FilteredCount(9, 0, 10, 4)})
        ),
    ),
    ("a clock that was set back", lambda states: states.poll(WAITING, after=-400.0)),
    ("a window that moved on", lambda states: states.poll(WAITING, after=WINDOW_SECONDS)),
]


@pytest.mark.parametrize("change", [case[1] for case in CHANGES], ids=[case[0] for case in CHANGES])
def test_whatever_happens_is_reported_at_once(change: Callable[[TwoStates], object]) -> None:
    states = TwoStates()
    for _ in range(40):
        states.poll(WAITING)
    change(states)
    for _ in range(30):
        states.poll(WAITING)


def test_time_in_which_nothing_waited_is_no_stall() -> None:
    states = TwoStates()
    for _ in range(30):
        assert states.poll(replace(WAITING, num_pending=0)).stalled == 0.0
    assert states.poll(WAITING).stalled == POLL


def test_time_in_which_nothing_was_unacked_is_no_stall_of_the_floor() -> None:
    states, finished = TwoStates(), {"ack_floor_consumer_seq": 10, "ack_floor_stream_seq": 10}
    for _ in range(30):
        states.poll(replace(WAITING, num_ack_pending=0, **finished))
    one = replace(WAITING, delivered_consumer_seq=11, delivered_stream_seq=11, num_ack_pending=1)
    assert states.poll(replace(one, **finished)).floor_stalled == POLL


def test_gaps_that_open_ahead_are_noticed() -> None:
    """The stream has gaps, but the consumer still waits for as many messages as there are ahead."""
    states, gappy = TwoStates(), replace(STREAM, messages=19)
    for _ in range(30):
        assert states.poll(WAITING, gappy).redelivery_exact == 1
    assert states.poll(WAITING, replace(gappy, last_seq=25, messages=24)).redelivery_exact == 0


def test_what_left_a_stream_with_gaps_leaves_a_doubt_that_is_kept() -> None:
    """One of the eight that wait may be gone, and another one may have been deleted by hand."""
    limited = replace(STREAM, config=stream_config(max_messages=18), messages=18, last_seq=20)
    states, row = TwoStates(), replace(WAITING, num_pending=8)
    for _ in range(30):
        assert states.poll(row, limited).lost_exact == 1
    overrun = replace(limited, first_seq=12, last_seq=30, messages=17)
    assert states.poll(replace(row, stream_first_seq=12, num_pending=17), overrun).lost_exact == 0
    for _ in range(19):
        last = states.poll(replace(row, stream_first_seq=12, num_pending=17), overrun)
        assert (last.lost, last.lost_upper, last.lost_exact) == (0, 1, 0)


@pytest.mark.parametrize(
    ("counted", "seconds", "cause"),
    [
        ({"acks": {KEY: 5}}, 60.0, Cause.NO_ACK),
        ({"naks": {KEY: 3}}, 60.0, Cause.NAK),
        ({"naks": {KEY: 3}}, 400.0, None),  # too long ago to be the cause
    ],
)
def test_what_was_counted_while_it_was_unchanged_shows_why_messages_come_again(
    counted: dict[str, Any], seconds: float, cause: Cause | None
) -> None:
    states, events = TwoStates(), EventsInput(**counted, listening=frozenset({"APP"}))
    for _ in range(30):
        states.poll(WAITING)
    for _ in range(int(seconds // POLL)):
        states.poll(WAITING, events=events)
    again = replace(WAITING, delivered_consumer_seq=14, num_redelivered=4)
    assert states.poll(again, events=events).redelivery_cause == cause


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
    {"last_delivery": at(NOW + 1)}, {"last_delivery": at(NOW + 2)}, {"last_delivery": None},
    {"config": None}, {"num_pending": 40}, {"num_pending": 90}, {"num_pending": 200},
    {"config": consumer_config(kind="push")}, {"config": consumer_config(max_ack_pending=None)},
]  # fmt: skip
STREAM_CHANGES = [
    *[NOTHING] * 20,
    {"last_seq": 21, "messages": 21}, {"last_seq": 30, "messages": 21, "first_seq": 10},
    {"messages": 15}, {"last_seq": 18, "messages": 18}, {"up": False}, {"up": True},
    {"first_seq": 21, "messages": 0, "first_time": None, "last_time": None},
    {"config": stream_config(kind="kv")}, {"config": stream_config(max_messages=20)},
    {"created": at(NOW)}, {"leader": "n2"}, {"last_seq": 22, "messages": 17},
]  # fmt: skip
EVENTS = [
    *[NO_WORKER] * 10,
    EventsInput(acks={KEY: 3}), EventsInput(acks={KEY: 9}), EventsInput(naks={KEY: 1}), EventsInput(exhausted={KEY: frozenset({6})}),
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
            st.sampled_from(EVENTS),
        ),
        min_size=3,
        max_size=60,
    )
)
@settings(max_examples=examples(200), deadline=None)
def test_less_work_shows_the_same_whatever_the_history(
    history: list[tuple[float, dict[str, Any], dict[str, Any], EventsInput]],
) -> None:
    states, row, of = TwoStates(), WAITING, STREAM
    for seconds, of_row, of_stream, events in history:
        row, of = replace(row, **of_row), replace(of, **of_stream)
        states.poll(row, of, events, after=seconds)


def test_a_count_without_configuration_stays_inexact_for_the_whole_window() -> None:
    states, row = TwoStates(), replace(WAITING, config=None)
    for seconds in (0.0, 0.0, 1.0):
        states.poll(row, STREAM, after=seconds)
    states.poll(
        replace(row, config=consumer_config(filters=("orders.eu",))), STREAM, after=299.9995
    )
