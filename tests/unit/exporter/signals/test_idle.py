"""An idle consumer costs no work, and any change ends that."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from support.exporter.models import NOW, at, consumer_config, stream_config
from support.signals.consumer_polls import KEY, POLL, Polls, orders, worker

from exporter.signals.events_input import EventsInput, FilteredCount
from exporter.signals.verdict import Verdict


def test_an_idle_consumer_is_reported_without_new_work() -> None:
    polls = Polls()
    polls.poll(orders(10), worker(10, 10))
    first = polls.result(orders(10), worker(10, 10))
    assert first.verdict is Verdict.IDLE
    assert polls.result(orders(10), worker(10, 10), after=900) is first


WAKING: list[tuple[str, dict[str, Any]]] = [
    ("a delivery", {"delivered_consumer_seq": 11}),
    ("a message that waits", {"num_pending": 1}),
    ("an unacked message", {"num_ack_pending": 1}),
    ("a move of its position", {"delivered_stream_seq": 11}),
    ("a loss", {"stream_first_seq": 12}),
    ("a floor that goes back", {"ack_floor_consumer_seq": 9}),
    ("a message given up", {"num_redelivered": 1}),
    ("a pause", {"paused": True}),
    ("another configuration", {"config": consumer_config(max_deliver=5)}),
    ("another leader", {"leader": "n2"}),
    ("a new life", {"created": at(NOW)}),
    ("no leader", {"up": False}),
]


@pytest.mark.parametrize("change", [case[1] for case in WAKING], ids=[case[0] for case in WAKING])
def test_any_change_ends_idle(change: dict[str, Any]) -> None:
    polls = Polls()
    polls.poll(orders(10), worker(10, 10))
    idle = polls.result(orders(10), worker(10, 10))
    assert polls.result(orders(10), replace(worker(10, 10), **change)) is not idle


def test_idle_time_is_no_stall_and_no_lag() -> None:
    filtered = consumer_config(filters=("orders.eu",))
    polls = Polls()
    for last in range(10, 400, 5):  # the stream goes on, but nothing is for this consumer
        now = orders(last, last_time=at(polls.now + POLL - 1))
        result = polls.result(now, worker(10, 10, config=filtered))
    assert (result.verdict, result.lag) == (Verdict.IDLE, 0.0)
    one = worker(10, 10, config=filtered, num_pending=1)
    result = polls.result(orders(401, last_time=at(polls.now + POLL - 1)), one)
    assert result.stalled == 0.0
    assert result.lag is not None
    assert result.lag <= 3 * POLL
    result = polls.result(orders(401, last_time=at(polls.now - 1)), one)
    assert result.stalled == POLL


def test_idle_time_is_no_stall_of_the_floor() -> None:
    polls = Polls()
    for _ in range(3):
        polls.poll(orders(10), worker(10, 10))
    assert polls.result(orders(10), worker(10, 10), after=3600).verdict is Verdict.IDLE
    result = polls.result(orders(11), worker(11, 11, floor=10, num_ack_pending=1))
    assert (result.verdict, result.floor_stalled) == (Verdict.OK, 0.0)
    result = polls.result(orders(11), worker(11, 11, floor=10, num_ack_pending=1))
    assert result.floor_stalled == POLL


def test_doubt_lasts_as_long_as_the_window() -> None:
    polls = Polls()
    polls.poll(orders(10), worker(4, 4, num_pending=6))
    result = polls.result(orders(20, 11, config=stream_config(max_messages=10)),
                      worker(7, 12, stream_first_seq=11, num_pending=8))  # fmt: skip
    assert (result.lost, result.lost_exact, result.redelivery_exact) == (5, 0, 0)
    assert result.lost_upper == 6  # it cannot be more: all before the first message
    full = orders(20, 11, config=stream_config(max_messages=10))
    caught_up = worker(15, 20, stream_first_seq=11)
    assert polls.result(full, caught_up, after=60).lost_exact == 0
    result = polls.result(full, caught_up, after=300)
    assert (result.lost, result.lost_exact, result.redelivery_exact) == (5, 1, 1)


def test_doubt_ends_for_an_idle_consumer_too() -> None:
    config = stream_config(max_age_seconds=500.0)
    polls = Polls()
    polls.poll(orders(20, config=config), worker(4, 4, num_pending=16))
    # A purge, but some may have been too old already: which of the two took them?
    empty = orders(20, 21, config=config, first_time=None, last_time=None)
    result = polls.result(empty, worker(4, 20, stream_first_seq=21))
    assert (result.purged, result.lost, result.lost_upper, result.lost_exact) == (0, 0, 16, 0)
    assert result.verdict is Verdict.LOSING_MESSAGES  # perhaps
    assert polls.result(empty, worker(4, 20, stream_first_seq=21)).lost_exact == 0
    assert polls.result(empty, worker(4, 20, stream_first_seq=21), after=300).lost_exact == 1


def test_gaps_that_open_ahead_of_an_idle_consumer_are_noticed() -> None:
    polls = Polls()
    polls.poll(orders(10), worker(10, 10))
    assert polls.result(orders(10), worker(10, 10)).redelivery_exact == 1
    assert polls.result(orders(30, messages=10), worker(10, 10)).redelivery_exact == 0


def test_a_stream_set_back_behind_an_idle_consumer_is_noticed() -> None:
    polls = Polls()
    polls.poll(orders(10), worker(10, 10))
    polls.poll(orders(10), worker(10, 10))
    assert polls.result(orders(7), worker(10, 10)).ahead == 3


def test_a_count_of_what_passes_reaches_an_idle_consumer() -> None:
    filtered = consumer_config(filters=("orders.eu",))
    polls = Polls()
    for _ in range(3):
        result = polls.result(orders(10), worker(5, 10, config=filtered))
    assert (result.verdict, result.redelivery_exact) == (Verdict.IDLE, 0)
    events = EventsInput(counts={KEY: FilteredCount(5, 0, 5, 0)})
    assert (
        polls.result(orders(10), worker(5, 10, config=filtered), events=events).redelivery_exact
        == 1
    )
