"""At the exporter's start: since when, by the server's own times."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from support.exporter.models import NOW, at, consumer_config, server, stream_config
from support.signals.consumer_polls import POLL, Polls, orders, worker

from exporter.model import MALFORMED
from exporter.signals.conditions.words import Condition, Reason
from exporter.signals.results import ConsumerSignals

OFFSET = 3600.0  # the servers' clock is an hour ahead
FIRST = NOW + POLL  # the first poll


def on_server(moment: float) -> Any:
    return at(moment + OFFSET)


CONFIG = consumer_config(ack_wait_seconds=30.0, max_ack_pending=5)
STREAM = orders(
    20,
    created=on_server(NOW - 9000),
    first_time=on_server(NOW - 8000),
    last_time=on_server(NOW - 400),
)
# Ten messages wait, one is unacked; the workers crashed 700 seconds before.
CRASHED = worker(
    10,
    10,
    9,
    num_ack_pending=1,
    num_pending=10,
    config=CONFIG,
    created=on_server(NOW - 9000),
    last_delivery=on_server(NOW - 700),
    last_ack=on_server(NOW - 690),
)


def after_two_polls(row: Any, of: Any = STREAM, offset: float = OFFSET) -> ConsumerSignals:
    polls = Polls()
    polls.poll(of, row, server(offset=offset))
    return polls.result(of, row, server(offset=offset))


def test_workers_that_crashed_with_a_message_in_flight_show_both_conditions() -> None:
    result = after_two_polls(CRASHED)
    assert result.conditions == (
        ("ack_floor_stuck", NOW - 690),
        ("no_worker_pulls", NOW - 700),
    )
    assert result.unjudged == ()
    assert result.stalled == pytest.approx(700 + 2 * POLL)


def test_without_a_measured_offset_the_clocks_are_taken_as_equal() -> None:
    plain = replace(CRASHED, last_delivery=at(NOW - 700), last_ack=at(NOW - 690))
    of = orders(20, first_time=at(NOW - 8000), last_time=at(NOW - 400))
    polls = Polls()
    polls.poll(of, plain)
    assert dict(polls.result(of, plain).conditions)["ack_floor_stuck"] == NOW - 690


@pytest.mark.parametrize(
    ("change", "since"),
    [
        ({}, NOW - 700),
        # The messages came later than the last delivery.
        ({"delivered_stream_seq": 19, "num_pending": 1}, NOW - 400),
        # Never delivered: since it was created, or since its first message.
        ({"delivered_consumer_seq": 0, "last_delivery": None, "created": on_server(NOW - 300)},
         NOW - 300),
    ],
)  # fmt: skip
def test_nothing_is_delivered_since_the_last_delivery_or_the_first_message(
    change: dict[str, Any], since: float
) -> None:
    waiting = replace(
        CRASHED, num_ack_pending=0, ack_floor_consumer_seq=10, ack_floor_stream_seq=10
    )
    result = after_two_polls(replace(waiting, **change))
    assert result.conditions == ((Condition.NO_WORKER_PULLS, since),)


@pytest.mark.parametrize(
    "change",
    [
        {"last_delivery": None},  # a restarted server does not know it
        {"last_delivery": on_server(NOW + 99_999)},  # a clock that was set
    ],
)
def test_else_it_counts_from_the_first_poll(change: dict[str, Any]) -> None:
    polls, row = Polls(), replace(CRASHED, **change)
    for _ in range(30):
        result = polls.result(STREAM, row, server(offset=OFFSET))
    assert result.conditions == (("ack_floor_stuck", FIRST), ("no_worker_pulls", FIRST))


def test_acks_that_go_on_show_nothing_about_the_floor() -> None:
    """The last ack was that of another message."""
    polls = Polls()
    for number in range(30):
        moment = on_server(NOW + POLL * number)
        row = replace(CRASHED, last_ack=moment, num_waiting=1, delivered_consumer_seq=10 + number)
        result = polls.result(STREAM, row, server(offset=OFFSET))
    assert dict(result.conditions)["ack_floor_stuck"] == NOW


def test_a_consumer_that_was_reset_counts_from_then() -> None:
    polls = Polls()
    for _ in range(3):
        polls.poll(STREAM, CRASHED, server(offset=OFFSET))
    reset = replace(
        CRASHED,
        delivered_consumer_seq=0,
        delivered_stream_seq=0,
        ack_floor_consumer_seq=0,
        ack_floor_stream_seq=0,
        num_ack_pending=0,
        num_pending=20,
    )
    assert polls.result(STREAM, reset, server(offset=OFFSET)).stalled == 0.0


def test_a_full_consumer_is_full_since_its_last_delivery() -> None:
    full = replace(
        CRASHED, num_ack_pending=5, ack_floor_consumer_seq=5, ack_floor_stream_seq=5, num_waiting=1
    )
    found = dict(after_two_polls(full).conditions)
    assert found["ack_pending_full"] == NOW - 700


def test_before_two_polls_nothing_is_judged() -> None:
    polls = Polls()
    result = polls.result(STREAM, CRASHED, server(offset=OFFSET))
    assert (result.verdict, result.conditions) == (None, ())
    assert dict(result.unjudged) == {
        word: Reason.ONE_POLL for word in Condition if word is not Condition.NO_LEADER
    }


def test_streams_that_overwrite_lose_nothing() -> None:
    polls = Polls()
    kv = stream_config(kind="kv", max_messages=10)
    row = worker(4, 4, num_pending=16, num_waiting=1)
    polls.poll(orders(20, config=kv), row)
    left = replace(row, num_pending=5, stream_first_seq=16)
    result = polls.result(orders(20, 16, config=kv), left)
    assert (result.lost, Condition.LOSING_MESSAGES in dict(result.conditions)) == (None, False)


def test_what_held_is_kept_while_there_is_no_leader() -> None:
    polls, clock = Polls(), server(offset=OFFSET)
    for _ in range(2):
        before = polls.result(STREAM, CRASHED, clock)
    gone = polls.result(STREAM, replace(CRASHED, up=False), clock)
    lost = polls.now
    assert gone.conditions == (("no_leader", lost), *before.conditions)
    assert {word for word, _ in gone.unjudged} == set(Condition) - set(dict(gone.conditions))
    assert polls.result(STREAM, replace(CRASHED, up=False), clock).conditions == gone.conditions
    # Its leader is back, that of its stream is not.
    back = polls.result(replace(STREAM, up=False), CRASHED, clock)
    assert (back.conditions, back.verdict) == (before.conditions, None)
    assert dict(back.unjudged)[Condition.FALLING_BEHIND] == Reason.NO_STREAM
    assert polls.result(STREAM, CRASHED, clock).conditions == before.conditions


def test_a_share_that_held_goes_on_while_it_cannot_be_judged() -> None:
    polls, paused = Polls(), replace(CRASHED, paused=True)
    for _ in range(2):
        before = polls.result(STREAM, paused)
    assert list(dict(before.conditions)) == ["paused_backlog"]
    for unknown in (
        replace(paused, config=None),
        replace(paused, up=False, reason=MALFORMED),
    ):
        result = polls.result(STREAM, unknown)
        assert result.conditions == before.conditions
        assert Condition.PAUSED_BACKLOG not in dict(result.unjudged)
        assert Condition.HEADROOM_LOW in dict(result.unjudged)


def test_a_malformed_row_shows_nothing() -> None:
    polls, clock = Polls(), server(offset=OFFSET)
    for _ in range(2):
        before = polls.result(STREAM, CRASHED, clock)
    unknown = polls.result(STREAM, replace(CRASHED, up=False, reason=MALFORMED), clock)
    assert (unknown.conditions, unknown.verdict) == (before.conditions, None)
    assert {reason for _, reason in unknown.unjudged} == {Reason.MALFORMED}
